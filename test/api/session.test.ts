import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSessions } from '../../src/api/session-cookie.ts'
import { createSeal } from '../../src/lib/seal.ts'
import { createProject } from '../support/service/projects.ts'
import { createToken, type NewToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
let token: NewToken

beforeAll(async () => {
  wharf = await startWharf()
  await createProject(wharf, 'shop', 'CREATE TABLE t (n int PRIMARY KEY)')
  token = await createToken(wharf, 'admin', 'shop')
})
afterAll(() => wharf.close())

const begin = async (headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const answer = await token.client.post('/session', { json: { days: 30 }, headers })
  expect(answer.status, answer.text).toBe(204)
  return String(answer.headers['set-cookie'])
}
const valueIn = (cookie: string): string => cookie.split(';')[0] ?? ''
const anyone = () => wharf.root.withToken(undefined)
const get = async (headers: Readonly<Record<string, string>>, path = '/me') => anyone().get(path, { headers })

test('the cookie is for this server alone, and for no script', async () => {
  const cookie = await begin()
  expect(cookie).toMatch(/^wharf-session=[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/)
  expect(cookie).not.toContain(token.token)
  expect(await begin({ origin: 'https://wharf.example' })).toMatch(/; Secure$/)
})

test('the cookie has the rights of its token, also for rows, and only with the header that other origins cannot send', async () => {
  const cookie = valueIn(await begin())
  const answer = await get({ cookie: `a=b; ${cookie}`, 'wharf-session': '1' })
  expect(answer.json).toMatchObject({ root: false, id: token.id })
  expect((await get({ cookie, 'wharf-session': '1' }, '/content/shop/live/t')).status).toBe(200)
  expect((await get({ cookie, 'wharf-session': '1' }, '/tokens')).status).toBe(403)
  expect((await get({ cookie })).status).toBe(401)
  expect((await get({ cookie, 'wharf-session': '1', 'sec-fetch-site': 'same-site' })).status).toBe(401)
  expect((await get({ 'wharf-session': '1' })).status).toBe(401)
  // A browser asks before it sends such a header to another origin, and is not told that it may.
  const asked = await anyone().request('OPTIONS', '/me', {
    headers: { origin: 'https://evil.example', 'access-control-request-headers': 'wharf-session' },
  })
  expect(Object.keys(asked.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('a token that is sent counts before the cookie, also where it is wrong', async () => {
  const cookie = valueIn(await begin())
  const answer = await wharf.root.get('/me', { headers: { cookie, 'wharf-session': '1' } })
  expect(answer.json).toMatchObject({ root: true })
  const wrong = wharf.root.withToken('nobodys')
  expect((await wrong.get('/me', { headers: { cookie, 'wharf-session': '1' } })).status).toBe(401)
})

test('a cookie makes no other cookie, and one that is changed is none', async () => {
  const cookie = valueIn(await begin())
  const again = await anyone().post('/session', { json: { days: 30 }, headers: { cookie, 'wharf-session': '1' } })
  expect(again.status).toBe(401)
  for (const changed of [`${cookie.slice(0, -2)}AA`, 'wharf-session=', 'wharf-session=%00', `${cookie}AAAA`]) {
    expect((await get({ cookie: changed, 'wharf-session': '1' })).status, changed).toBe(401)
  }
})

test('it ends with its token, and when it is taken away', async () => {
  const cookie = valueIn(await begin())
  const ended = await anyone().delete('/session')
  expect(String(ended.headers['set-cookie'])).toMatch(/^wharf-session=; .*Max-Age=0$/)
  expect((await wharf.root.delete(`/tokens/${token.id}`)).status).toBe(204)
  expect((await get({ cookie, 'wharf-session': '1' })).status).toBe(401)
})

test('it ends when its time is over', () => {
  let nowMs = 0
  const sessions = createSessions(createSeal('a secret of the tests'), () => nowMs)
  const cookie = valueIn(sessions.begin('token', { seconds: 60, isSecure: false }))
  const headers = { cookie, 'wharf-session': '1' }
  nowMs = 59_999
  expect(sessions.tokenOf(headers)).toBe('token')
  nowMs = 60_000
  expect(sessions.tokenOf(headers)).toBeUndefined()
})
