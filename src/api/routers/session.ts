import { z } from 'zod'
import { unauthenticated } from '../../errors.ts'
import type { Caller } from '../../projects/access.ts'
import { bearerToken } from '../access.ts'
import { empty } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import type { Sessions } from '../session-cookie.ts'

const route = routesUnder('Tokens')

const MAX_DAYS = 90
const DAY_SECONDS = 24 * 60 * 60

const begin = route('POST /session', {
  operationId: 'beginSession',
  summary: 'Keeps a browser signed in: the token as a cookie that no script can read',
  description:
    'The cookie `wharf-session` holds the token, encrypted, and ends with it. A request that has the cookie, no `Authorization`, and ' +
    'the header `Wharf-Session` has the rights of the token. Without that header the cookie counts for nothing: no page of ' +
    'another origin can send it.',
  access: { by: 'token' },
  body: jsonBody(
    z.strictObject({
      days: z.int().min(1).max(MAX_DAYS).meta({ description: 'For how long.' }),
    }),
  ),
  answers: { 204: empty('The browser has the cookie.', { 'set-cookie': 'The cookie.' }) },
})

const end = route('DELETE /session', {
  operationId: 'endSession',
  summary: 'Takes the cookie away that keeps a browser signed in',
  access: { by: 'anyone' },
  answers: { 204: empty('The browser has no cookie any more.', { 'set-cookie': 'An empty cookie, which has ended.' }) },
})

/** `/session` */
export const sessionRoutes = (sessions: Sessions): readonly BoundRoute<Caller>[] => [
  begin.handle<Caller>(async ({ body: { days }, request }) => {
    const { authorization, origin } = request.headers
    const token = bearerToken(authorization)
    // A cookie would never end, which can make itself a new one.
    if (token === undefined)
      throw unauthenticated('a session begins with the token itself: Authorization: Bearer <token>')
    const isSecure = origin?.startsWith('https:') === true
    const cookie = sessions.begin(token, { seconds: days * DAY_SECONDS, isSecure })
    return { status: 204, headers: { 'set-cookie': cookie } }
  }),
  end.handle<Caller>(async () => ({ status: 204, headers: { 'set-cookie': sessions.end() } })),
]
