import { join } from 'node:path'
import fc from 'fast-check'
import { request } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, SHIP } from '../support/content/content.ts'
import { SECRET_KEY, type ServiceProcess, startServiceProcess } from '../support/service/service-process.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'
import { checkHistory, type Operation } from './reference-history.ts'

const OPERATIONS = isThorough ? 10_000 : 800
const CLIENTS = 16

/** Far more than it takes, for machines that do much else. */
const LIMIT_MS = 240_000

let wharf: TestWharf
/** What the test asks: services on the same database, each in a process of its own. */
let services: readonly ServiceProcess[]

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SECRET_KEY: SECRET_KEY } })
  await createShips(wharf)
  const start = (name: string) =>
    startServiceProcess({ databaseUrl: wharf.database.url, dataDir: join(wharf.dataDir, name) })
  services = await Promise.all([start('one'), start('other')])
})
afterAll(async () => {
  await Promise.all((services ?? []).map((service) => service.kill('SIGTERM')))
  await wharf.close()
})

/**
 * What one client does next: a write, or a read that is conditional on what it saw last; by one process or the other.
 */
const actions = fc.array(
  fc.record({
    kind: fc.oneof({ weight: 1, arbitrary: fc.constant('write') }, { weight: 14, arbitrary: fc.constant('read') }),
    process: fc.integer({ min: 0, max: 1 }),
    row: fc.integer({ min: 1, max: 3 }),
    conditional: fc.boolean(),
  }),
  { minLength: OPERATIONS / CLIENTS, maxLength: OPERATIONS / CLIENTS },
)

test(
  '304 says that nothing has changed: thousands of writes and conditional reads through two processes, in any order',
  async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    console.log(`seed ${seed} (set SEED to run the same again)`)
    const plans = fc.sample(actions, { numRuns: CLIENTS, seed })
    const urls = services.map(({ url }) => url)
    const history: Operation[] = []
    let tons = 0

    const run = async (client: number, plan: (typeof plans)[number]): Promise<void> => {
      let known: string | undefined
      for (const { kind, process: via, row, conditional } of plan) {
        const url = `${urls[via]}${SHIP}?${kind === 'write' ? `id=eq.${row}` : 'order=id&select=id,tons'}`
        const headers: Record<string, string> = { authorization: `Bearer ${ROOT_TOKEN}` }
        if (kind === 'write') headers['content-type'] = 'application/json'
        else if (conditional && known !== undefined) headers['x-service-ref'] = known
        tons += 1
        const body = kind === 'write' ? JSON.stringify({ tons }) : null
        const begin = performance.now()
        const answer = await request(url, { method: kind === 'write' ? 'PATCH' : 'GET', headers, body })
        const text = await answer.body.text()
        const reference = String(answer.headers['x-service-ref'])
        history.push({
          client,
          kind: kind === 'write' ? 'write' : 'read',
          begin,
          end: performance.now(),
          status: answer.statusCode,
          asked: headers['x-service-ref'],
          reference,
          text,
        })
        if (kind === 'read') known = reference
      }
    }
    await Promise.all(plans.map((plan, client) => run(client, plan)))

    const order = await wharf.database.query<{ reference: string }>(
      'SELECT reference FROM system.transaction ORDER BY position',
    )
    expect(history.length).toBe(OPERATIONS)
    expect(history.filter(({ status }) => status === 304).length).toBeGreaterThan(100)
    expect(history.filter(({ kind }) => kind === 'write').length).toBeGreaterThan(OPERATIONS / 40)
    expect(
      checkHistory(
        history,
        order.map(({ reference }) => reference),
      ),
    ).toEqual([])
  },
  LIMIT_MS,
)

// The checker itself: each of these is a history that must not be.

const operation = (fields: Partial<Operation>): Operation => ({
  client: 1,
  kind: 'read',
  begin: 0,
  end: 1,
  status: 200,
  asked: undefined,
  reference: 'a',
  text: '[]',
  ...fields,
})

test.each([
  {
    what: 'a 304 to what an acknowledged write has replaced',
    history: [
      operation({ kind: 'write', status: 204, begin: 0, end: 1, reference: 'b' }),
      operation({ status: 304, begin: 2, end: 3, asked: 'a', reference: 'a' }),
    ],
  },
  {
    what: 'an old 200 after an acknowledged write',
    history: [
      operation({ kind: 'write', status: 204, begin: 0, end: 1, reference: 'b' }),
      operation({ begin: 2, end: 3, reference: 'a' }),
    ],
  },
  {
    what: 'a reference with two bodies',
    history: [operation({ text: '[1]' }), operation({ begin: 2, end: 3, text: '[2]' })],
  },
  {
    what: 'a client that goes back in time',
    history: [operation({ reference: 'b' }), operation({ begin: 2, end: 3, reference: 'a' })],
  },
  {
    what: 'a 304 for something else than was asked',
    history: [operation({ status: 304, asked: 'b', reference: 'a' })],
  },
  { what: 'a reference that no event has', history: [operation({ reference: 'x' })] },
  { what: 'a failure', history: [operation({ status: 500 })] },
])('the checker finds $what', ({ history }) => {
  expect(checkHistory(history, ['a', 'b', 'c'])).not.toEqual([])
})

test('the checker finds nothing in a history that may be', () => {
  const history = [
    operation({ reference: 'a' }),
    operation({ kind: 'write', status: 204, begin: 2, end: 6, reference: 'b' }),
    operation({ client: 2, status: 304, begin: 3, end: 5, asked: 'a', reference: 'a' }),
    operation({ client: 3, begin: 4, end: 5, reference: 'b', text: '[1]' }),
    operation({ client: 2, begin: 7, end: 8, reference: 'b', text: '[1]' }),
  ]
  expect(checkHistory(history, ['a', 'b'])).toEqual([])
})
