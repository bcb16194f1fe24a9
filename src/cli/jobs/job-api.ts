import { z } from 'zod'
import { encodedPath, type HttpClient, jsonBody } from '../http.ts'
import { roleNotes, rolesLeftOutSchema } from '../import/role-notes.ts'

/** Unknown fields are left out, so that a server may be newer. */
const jobSchema = z.object({
  id: z.string(),
  kind: z.string(),
  status: z.string(),
  request: z.unknown(),
  progress: z
    .object({
      phase: z.string(),
      stage: z.string().nullable(),
      table: z.string().nullable(),
      rows: z.number(),
      rowsTotal: z.number().nullable(),
      bytes: z.number(),
      percent: z.number().nullable(),
    })
    .nullable(),
  result: z.unknown(),
  error: z
    .object({
      code: z.string(),
      detail: z.string(),
      errors: z.array(
        z.object({ pointer: z.string().exactOptional(), line: z.int().exactOptional(), detail: z.string() }),
      ),
    })
    .nullable(),
  attempt: z.int(),
  createdAt: z.string(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  expiresAt: z.string().nullable(),
  archiveDamagedAt: z.string().nullable().default(null),
})

export type Job = z.infer<typeof jobSchema>

const notExportedSchema = z.object({
  notExported: z
    .array(z.object({ stage: z.string(), kind: z.string(), name: z.string(), detail: z.string().exactOptional() }))
    .default([]),
})

/** What the archive of a job lacks, since no archive can hold it. */
export const notExportedOf = ({ result }: Job): z.infer<typeof notExportedSchema>['notExported'] =>
  notExportedSchema.safeParse(result).data?.notExported ?? []

const projectsSchema = z.object({
  projects: z.array(z.object({ targetSlug: z.string(), rolesLeftOut: rolesLeftOutSchema })),
})

/** What an import or a transfer did not do to roles, in words. */
export const roleNotesOf = ({ result }: Job): readonly string[] =>
  projectsSchema
    .safeParse(result)
    .data?.projects.flatMap(({ targetSlug, rolesLeftOut }) => roleNotes(targetSlug, rolesLeftOut)) ?? []

const pageSchema = z.object({ items: z.array(jobSchema) })

/** How long the server may hold an answer until something has changed, in seconds. */
const WAIT_SECONDS = 20

export const hasEnded = ({ status }: Job): boolean => ['succeeded', 'failed', 'cancelled'].includes(status)

export const listJobs = async (
  http: HttpClient,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly Job[]> => (await http.json({ method: 'GET', path: '/jobs', query }, pageSchema)).items

export const getJob = (http: HttpClient, id: string): Promise<Job> =>
  http.json({ method: 'GET', path: encodedPath`/jobs/${id}` }, jobSchema)

/** The job when something has changed, or as it is after a while. */
export const awaitJob = (http: HttpClient, id: string): Promise<Job> =>
  http.json({ method: 'GET', path: encodedPath`/jobs/${id}`, headers: { prefer: `wait=${WAIT_SECONDS}` } }, jobSchema)

export const cancelJob = (http: HttpClient, id: string): Promise<Job> =>
  http.json({ method: 'POST', path: encodedPath`/jobs/${id}/cancel` }, jobSchema)

/** Has a server export as a job. */
export const submitExport = (http: HttpClient, projects: readonly object[]): Promise<Job> => {
  const { headers, body } = jsonBody({ projects })
  return http.json(
    { method: 'POST', path: '/export', headers: { ...headers, prefer: 'respond-async' }, body },
    jobSchema,
  )
}

/** Has a server transfer, which is always a job. */
export const submitTransfer = (http: HttpClient, transfer: object): Promise<Job> =>
  http.json({ method: 'POST', path: '/transfer', ...jsonBody(transfer) }, jobSchema)
