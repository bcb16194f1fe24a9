import type { z } from 'zod'
import { type FromServer, fromServer } from '../../contract/from-server.ts'
import { jobResultSchema, jobSchema } from '../../contract/job.ts'
import type { NotExported } from '../../contract/not-exported.ts'
import { pageOf } from '../../contract/page.ts'
import { encodedPath, type HttpCall, type HttpClient, jsonBody } from '../http.ts'
import { leftOutNotes } from '../import/left-out-notes.ts'
import { roleNotes } from '../import/role-notes.ts'
import { changesOf } from '../schedule-runs.ts'
import { get, listAll, withAllowance } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'

/** What is shown of a job. */
export const shownJob = jobSchema.omit({
  createdBy: true,
  scheduleId: true,
  cancelRequestedAt: true,
  archiveCheckedAt: true,
  links: true,
})

export type Job = FromServer<z.output<typeof shownJob>>

const jobResult = fromServer(jobResultSchema)

/** What the result of a job says; undefined where it has none, or one that is not understood. */
export const resultOf = ({ result }: Job): z.output<typeof jobResult> | undefined => jobResult.safeParse(result).data

/** What the archive of a job lacks, since no archive can hold it; nothing is known of it before the job has succeeded. */
export function lackingOf(job: Job): {
  readonly complete: boolean | null
  readonly notExported: readonly FromServer<NotExported>[]
} {
  const { complete = null, notExported = [] } = resultOf(job) ?? {}
  return { complete, notExported }
}

/** What is new and what is gone of the projects that patterns stand for, in words. */
export function matchedNotesOf(job: Job): readonly string[] {
  const { matched } = resultOf(job) ?? {}
  return matched ? changesOf(matched).map(printable) : []
}

/** What an import or a transfer did not do to roles and rights, in words. */
export function leftOutNotesOf(job: Job): readonly string[] {
  const { projects = [] } = resultOf(job) ?? {}
  const roles = projects.flatMap(({ targetSlug, rolesLeftOut }) => roleNotes(targetSlug, rolesLeftOut))
  return [...roles, ...leftOutNotes(projects)]
}

/** How long the server may hold an answer until something has changed, in seconds. */
const WAIT_SECONDS = 20

export const hasEnded = ({ status }: Job): boolean => ['succeeded', 'failed', 'cancelled'].includes(status)

export const listJobs = async (http: HttpClient, query: HttpCall['query']): Promise<readonly Job[]> =>
  (await http.json({ method: 'GET', path: '/jobs', ...(query && { query }) }, pageOf(shownJob))).items

/**
 * The newest export of a schedule whose archive is not known to be damaged, and not gone by its date.
 *
 * @param at of those that were begun at this time, or before.
 */
export async function findScheduledJob(http: HttpClient, schedule: string, at?: Date): Promise<Job | undefined> {
  const query = { schedule, kind: 'export', status: 'succeeded' }
  const jobs = await listAll(http, { path: '/jobs', item: shownJob, query })
  return jobs.find(
    ({ createdAt, expiresAt, archiveDamagedAt }) =>
      archiveDamagedAt === null &&
      (expiresAt === null || new Date(expiresAt) > new Date()) &&
      (at === undefined || new Date(createdAt) <= at),
  )
}

export const getJob = (http: HttpClient, id: string): Promise<Job> => get(http, encodedPath`/jobs/${id}`, shownJob)

/** The job when something has changed, or as it is after a while. */
export const awaitJob = (http: HttpClient, id: string): Promise<Job> =>
  http.json({ method: 'GET', path: encodedPath`/jobs/${id}`, headers: { prefer: `wait=${WAIT_SECONDS}` } }, shownJob)

export const cancelJob = (http: HttpClient, id: string): Promise<Job> =>
  http.json({ method: 'POST', path: encodedPath`/jobs/${id}/cancel` }, shownJob)

/** Has a server do something as a job. @param allowIncomplete whether rows may be missing. */
export const submitJob = (
  http: HttpClient,
  path: '/export' | '/transfer',
  request: object,
  allowIncomplete = false,
): Promise<Job> =>
  withAllowance(request, allowIncomplete, (asked) => {
    const { headers, body } = jsonBody(asked)
    return http.json({ method: 'POST', path, headers: { ...headers, prefer: 'respond-async' }, body }, shownJob)
  })
