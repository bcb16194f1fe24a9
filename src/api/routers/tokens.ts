import { z } from 'zod'
import type { Container } from '../../container.ts'
import { id, slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { callerSchema, createdTokenSchema, newToken, tokenSchema } from '../../contract/token.ts'
import type { Caller } from '../../projects/access.ts'
import { createToken, findToken, listTokens, revokeToken, type Token } from '../../projects/tokens.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('Tokens')

const list = route('GET /tokens', {
  operationId: 'listTokens',
  summary: 'Tokens in the order in which they were made, revoked ones too; for the root token',
  access: { by: 'root' },
  query: z.object({ ...pageQuery, after: id.optional(), project: slug.optional() }),
  answers: { 200: json(pageOf(tokenSchema), 'A page of tokens.') },
})

const create = route('POST /tokens', {
  operationId: 'createToken',
  summary: 'Creates a token with a role in one or more projects; for the root token',
  description: 'The answer is the only place where the token is ever shown.',
  access: { by: 'root' },
  body: jsonBody(newToken),
  answers: { 201: json(createdTokenSchema, 'The new token.', { location: 'Path of the token.' }) },
  errors: ['NOT_FOUND'],
})

const show = route('GET /tokens/{id}', {
  operationId: 'showToken',
  summary: 'One token; for the root token',
  access: { by: 'root' },
  params: z.object({ id }),
  answers: { 200: json(tokenSchema, 'The token.') },
  errors: ['NOT_FOUND'],
})

const revoke = route('DELETE /tokens/{id}', {
  operationId: 'revokeToken',
  summary: 'Revokes a token for good, from the next request on; for the root token',
  access: { by: 'root' },
  params: z.object({ id }),
  answers: { 204: empty('The token is revoked.') },
  errors: ['NOT_FOUND'],
})

const me = route('GET /me', {
  operationId: 'whoAmI',
  summary: 'Who the token is, and what it may do',
  access: { by: 'token' },
  answers: {
    200: json(callerSchema, 'The caller.'),
  },
})

/** `/tokens` and `/me` */
export function tokenRoutes({ control }: Container): readonly BoundRoute<Caller>[] {
  const database = control.prisma
  return [
    list.handle<Caller>(async ({ query }) => {
      const find = (limit: number) => listTokens(database, { ...query, limit })
      const { items, next } = await readPage(query, find, ({ id }) => id)
      return { status: 200, body: { items: items.map(toTokenBody), next } }
    }),
    create.handle<Caller>(async ({ body }) => {
      const expiresAt = body.expiresAt === undefined ? null : new Date(body.expiresAt)
      const { token, record } = await createToken(database, { ...body, expiresAt })
      return { status: 201, headers: { location: `/tokens/${record.id}` }, body: { ...toTokenBody(record), token } }
    }),
    show.handle<Caller>(async ({ params }) => {
      return { status: 200, body: toTokenBody(await findToken(database, params.id)) }
    }),
    revoke.handle<Caller>(async ({ params }) => {
      await revokeToken(database, params.id)
      return { status: 204 }
    }),
    me.handle<Caller>(({ caller }) => ({ status: 200, body: toMeBody(caller) })),
  ]
}

const toTokenBody = (token: Token) => ({
  ...token,
  createdAt: token.createdAt.toISOString(),
  expiresAt: token.expiresAt?.toISOString() ?? null,
  revokedAt: token.revokedAt?.toISOString() ?? null,
})

const toMeBody = (caller: Caller) =>
  caller.kind === 'root'
    ? { root: true, id: null, name: null, memberships: [] }
    : {
        root: false,
        id: caller.tokenId,
        name: caller.tokenName,
        memberships: [...caller.roles].map(([project, role]) => ({ project, role })),
      }
