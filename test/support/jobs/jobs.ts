import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { sweepJobs } from '../../../src/jobs/sweep.ts'
import type { JobTimings } from '../../../src/jobs/timings.ts'
import type { ServicePart } from '../../../src/service.ts'
import { sendArchive } from '../archives/import.ts'
import { eventually } from '../eventually.ts'
import { type ApiAnswer, type ApiClient, createApiClient } from '../http/api-client.ts'
import { runScript, type ScriptOptions, type ScriptProcess } from '../processes/processes.ts'
import { isRedisInstalled, type RedisServer, startRedis } from '../servers/redis.ts'
import { ROOT_TOKEN, SHORT_TIMINGS, type TestWharf } from '../service/wharf.ts'
import { isThorough } from '../thorough.ts'

const jobSchema = z.looseObject({
  id: z.string(),
  kind: z.string(),
  status: z.string(),
  attempt: z.number(),
  progress: z.unknown(),
  result: z.unknown(),
  error: z.unknown(),
})

export type SeenJob = z.infer<typeof jobSchema>

const ASYNC = { prefer: 'respond-async' }

/** Asks for an export as a job. */
export const askExport = (
  client: ApiClient,
  projects: readonly Readonly<Record<string, unknown>>[],
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> => client.post('/export', { json: { projects }, headers: { ...ASYNC, ...headers } })

/** Asks for an import as a job. */
export const askImport = (
  client: ApiClient,
  archive: string | Uint8Array,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> => sendArchive(client, archive, { query, headers: { ...ASYNC, ...headers } })

/** The job of an answer that has one. */
export function jobOf(answer: ApiAnswer): SeenJob {
  expect([200, 202], answer.text).toContain(answer.status)
  return jobSchema.parse(answer.json)
}

export const showJob = async (client: ApiClient, id: string): Promise<SeenJob> => jobOf(await client.get(`/jobs/${id}`))

/** Waits until the job is as expected. */
export async function untilStatus(client: ApiClient, id: string, status: string): Promise<SeenJob> {
  await eventually(async () => (await showJob(client, id)).status).toBe(status)
  return showJob(client, id)
}

/** Waits until the job has ended. @param patienceMs for how long. */
export async function untilEnded(client: ApiClient, { id }: SeenJob, patienceMs?: number): Promise<SeenJob> {
  await eventually(async () => (await showJob(client, id)).status, patienceMs).toMatch(/succeeded|failed|cancelled/)
  return showJob(client, id)
}

export type Backend = 'PostgreSQL' | 'Redis'

/** The queue's two places, as far as they are there. */
export const BACKENDS: readonly Backend[] = isRedisInstalled ? ['PostgreSQL', 'Redis'] : ['PostgreSQL']

/**
 * Those for tests of workers that are lost: unless tests are thorough, `faults` takes one and `last-steps` the other.
 */
export const BACKENDS_OF_FAULTS: readonly Backend[] = isThorough ? BACKENDS : BACKENDS.slice(0, 1)
export const BACKENDS_OF_LAST_STEPS: readonly Backend[] = isThorough ? BACKENDS : BACKENDS.slice(-1)

/** What a service needs to have its queue there; `redis` only where that is Redis. */
export async function startBackend(backend: Backend): Promise<{
  readonly environment: Readonly<Record<string, string>>
  readonly redis: RedisServer | undefined
}> {
  if (backend === 'PostgreSQL') return { environment: {}, redis: undefined }
  const redis = await startRedis()
  return { environment: { REDIS_URL: redis.url }, redis }
}

type PartOptions = Pick<ScriptOptions, 'preload' | 'fileBlocks'>

/** Starts a process that works on the jobs of a service, and is killed after the test. */
export async function startWorkerProcess(
  wharf: TestWharf,
  environment: Readonly<Record<string, string>> = {},
  timings: Partial<JobTimings> = {},
  options: PartOptions = {},
): Promise<ScriptProcess> {
  const worker = await startPart('worker', wharf, environment, timings, options)
  expect(await worker.nextLine()).toBe('ready')
  return worker
}

/** Starts a process that answers the requests of a service, and is killed after the test. */
export async function startApiProcess(
  wharf: TestWharf,
  environment: Readonly<Record<string, string>> = {},
): Promise<ScriptProcess & { readonly root: ApiClient }> {
  const api = await startPart('api', wharf, environment, {})
  return { ...api, root: createApiClient(await api.nextLine(), ROOT_TOKEN) }
}

function startPart(
  part: ServicePart,
  { database, dataDir }: TestWharf,
  environment: Readonly<Record<string, string>>,
  timings: Partial<JobTimings>,
  options: PartOptions = {},
): Promise<ScriptProcess> {
  const needed = { DATABASE_URL: database.url, WHARF_DATA_DIR: dataDir, WHARF_ROOT_TOKEN: ROOT_TOKEN }
  const args = [part, JSON.stringify({ ...needed, ...environment }), JSON.stringify({ ...SHORT_TIMINGS, ...timings })]
  return runScript('run-part', { args, ...options })
}

/** Of a job that was begun again: once, or more often where a busy machine made it fail for a reason that may pass. */
export const AGAIN = expect.toSatisfy((attempt) => attempt > 1)

/** For workers that are lost when the test says so, and not when the machine is busy. */
export const NO_LEASE: Partial<JobTimings> = { leaseMs: 600_000, lockMs: 4_000, stalledMs: 500 }

/** Takes jobs from workers that are gone or stopped, by a lease of two seconds; no other may be working meanwhile. */
export const takeFromLostWorkers = ({ container, database }: TestWharf): Promise<void> =>
  eventually(async () => {
    await sweepJobs(container, { leaseMs: 2_000, heartbeatMs: 100 })
    return database.query(`SELECT kind, request FROM control.job WHERE status = 'running'`)
  }).toEqual([])

/** What there is of jobs' files: records by kind and state, and what the store holds. */
export async function artifactsOf({ database, dataDir }: TestWharf) {
  const records = await database.query<{ kind: string; state: string; n: number }>(
    `SELECT kind, state, count(*)::int AS n FROM control.artifact WHERE state <> 'removed' GROUP BY 1, 2 ORDER BY 1, 2`,
  )
  const entries = await readdir(join(dataDir, 'artifacts'), { withFileTypes: true, recursive: true })
  return { records, files: entries.filter((entry) => entry.isFile()).length }
}
