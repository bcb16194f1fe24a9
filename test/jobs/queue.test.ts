import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { queueSchema } from '../../src/contract/queue.ts'
import { askExport, BACKENDS, jobOf, startBackend } from '../support/jobs/jobs.ts'
import type { RedisServer } from '../support/servers/redis.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const NOTHING = { active: 0, waiting: 0, delayed: 0, failed: 0, oldestWaitingSeconds: 0, stalled: 0 }

describe.each(BACKENDS)('what is in a queue on %s', (backend) => {
  let wharf: TestWharf
  let redis: RedisServer | undefined

  beforeAll(async () => {
    const queue = await startBackend(backend)
    redis = queue.redis
    wharf = await startWharf({ environment: queue.environment })
    await createProject(wharf, 'shop', 'CREATE TABLE item (id int)')
  })

  afterAll(async () => {
    await wharf?.close()
    await redis?.kill()
  })

  const read = async () => queueSchema.parse((await wharf.root.get('/queue')).json)

  test('is nothing at first', async () => {
    expect(await read()).toEqual({
      kinds: ['export', 'import', 'transfer'].map((kind) => ({ kind, ...NOTHING })),
      entries: [],
    })
  })

  test('are jobs by kind, those that were asked for first before others', async () => {
    const [first, second] = [
      jobOf(await askExport(wharf.root, [{ slug: 'shop' }])),
      jobOf(await askExport(wharf.root, [{ slug: 'shop' }])),
    ]
    const { kinds, entries } = await read()
    expect(kinds).toMatchObject([{ kind: 'export', waiting: 2, stalled: 0 }, NOTHING, NOTHING])
    expect(kinds[0]?.oldestWaitingSeconds).toBeGreaterThan(0)
    expect(entries).toMatchObject([
      { jobId: first.id, kind: 'export', state: 'waiting' },
      { jobId: second.id, kind: 'export', state: 'waiting' },
    ])
  })

  test('is said beside jobs whose worker is silent', async () => {
    await wharf.database.query(
      `UPDATE control.job SET status = 'running', attempt = 1, heartbeat_at = now() - interval '1 hour'
        WHERE id = (SELECT id FROM control.job ORDER BY created_at LIMIT 1)`,
    )
    expect((await read()).kinds[0]).toMatchObject({ stalled: 1 })
  })

  test.skipIf(backend !== 'Redis')('is unknown where the queue does not answer', async () => {
    await redis?.kill()
    const { status, json } = await wharf.root.get('/queue')
    expect(status).toBe(503)
    expect(z.looseObject({ type: z.string() }).parse(json).type).toBe('urn:wharf:error:queue-unavailable')
  })
})
