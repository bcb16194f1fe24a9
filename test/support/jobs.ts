import { expect } from 'vitest'
import { z } from 'zod'
import type { ApiAnswer, ApiClient } from './api-client.ts'
import { eventually } from './eventually.ts'
import { sendArchive } from './import.ts'
import { startRedis, type TestRedis } from './redis.ts'

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

/** Waits until the job has ended. */
export async function untilEnded(client: ApiClient, { id }: SeenJob): Promise<SeenJob> {
  await eventually(async () => (await showJob(client, id)).status).toMatch(/succeeded|failed|cancelled/)
  return showJob(client, id)
}

/** The queue's two places. */
export const BACKENDS = ['PostgreSQL', 'Redis'] as const
export type Backend = (typeof BACKENDS)[number]

/** What a service needs to have its queue there; `redis` only where that is Redis. */
export async function startBackend(backend: Backend): Promise<{
  readonly environment: Readonly<Record<string, string>>
  readonly redis: TestRedis | undefined
}> {
  if (backend === 'PostgreSQL') return { environment: {}, redis: undefined }
  const redis = await startRedis()
  return { environment: { REDIS_URL: redis.url }, redis }
}
