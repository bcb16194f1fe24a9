import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, request } from 'undici'
import { z } from 'zod'
import type { BenchService } from './start-service.ts'
import { PROJECT } from './wharf-client.ts'

const jobSchema = z.object({ id: z.string(), status: z.string(), error: z.unknown() })

type Job = z.infer<typeof jobSchema>

/** Has the bench's project exported by a job, and waits for its end. @returns the job's id. */
export async function exportAsJob(api: BenchService): Promise<string> {
  const body = JSON.stringify({ projects: [{ slug: PROJECT, system: false }] })
  const job = await submit(api, '/export', { headers: { 'content-type': 'application/json' }, body })
  return awaitSuccess(api, job)
}

/** Copies one project over another, and waits for the end of the job. @returns the job's id. */
export async function transferProject(
  api: BenchService,
  { source, target }: { readonly source: string; readonly target: string },
): Promise<string> {
  const body = JSON.stringify({ source: { project: source }, target: { project: target } })
  return awaitSuccess(api, await submit(api, '/transfer', { headers: { 'content-type': 'application/json' }, body }))
}

/** Hands an archive, compressed with gzip, to the API. @returns the job that imports it, which goes on by itself. */
export async function uploadForImport(api: BenchService, path: string): Promise<Job> {
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  return submit(api, `/import?targetSlug=${PROJECT}`, { headers, body: createReadStream(path) })
}

/** Downloads the archive that an export job has made. */
export async function downloadArchive({ url, headers }: BenchService, jobId: string, path: string): Promise<void> {
  const { statusCode, body } = await request(`${url}/jobs/${jobId}/file`, { headers, bodyTimeout: 0 })
  if (statusCode !== 200) throw new Error(`the download answered ${statusCode}: ${await body.text()}`)
  await pipeline(body, createWriteStream(path))
}

/** Waits until a job has succeeded. @returns its id. @throws where it has ended in another way. */
export async function awaitSuccess({ url, headers }: BenchService, { id }: Job): Promise<string> {
  for (;;) {
    const answer = await request(`${url}/jobs/${id}`, { headers: { ...headers, prefer: 'wait=60' } })
    const { status, error } = jobSchema.parse(await answer.body.json())
    if (status === 'succeeded') return id
    if (status !== 'queued' && status !== 'running') throw new Error(`a job ${status}: ${JSON.stringify(error)}`)
  }
}

async function submit(
  { url, headers }: BenchService,
  path: string,
  sent: { readonly headers: Readonly<Record<string, string>>; readonly body: Dispatcher.DispatchOptions['body'] },
): Promise<Job> {
  const { statusCode, body } = await request(url + path, {
    method: 'POST',
    headers: { ...headers, ...sent.headers, prefer: 'respond-async' },
    body: sent.body ?? null,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const text = await body.text()
  if (statusCode !== 202) throw new Error(`POST ${path} answered ${statusCode}: ${text}`)
  return jobSchema.parse(JSON.parse(text))
}
