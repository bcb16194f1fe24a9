import { z } from 'zod'
import { encodedPath, type HttpClient, jsonBody } from './http.ts'
import { listAll, remove } from './server-api.ts'

/** Unknown fields are left out, so that a server may be newer. */
const runSchema = z.object({
  dueAt: z.string(),
  jobId: z.string().nullable(),
  status: z.string(),
  error: z.object({ code: z.string(), detail: z.string() }).nullable(),
  finishedAt: z.string().nullable(),
  provenAt: z.string().nullable(),
  notExported: z.int().nullable().default(null),
})

const exportRequest = z.object({ projects: z.array(z.object({ slug: z.string() })) })
const transferEnd = z.union([z.object({ project: z.string() }), z.object({ dsn: z.string() })])
const transferRequest = z.object({ source: transferEnd, target: transferEnd })

const common = {
  id: z.string(),
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  keep: z.object({ last: z.int().optional(), days: z.int().optional() }),
  verify: z.boolean(),
  enabled: z.boolean(),
  nextRunAt: z.string().nullable(),
  /** Not in lists. */
  nextRuns: z.array(z.string()).default([]),
  lastRun: runSchema.nullable(),
  lastSuccess: runSchema.nullable(),
  lastProven: runSchema.nullable(),
}

const scheduleSchema = z.discriminatedUnion('kind', [
  z.object({ ...common, kind: z.literal('export'), request: exportRequest }),
  z.object({ ...common, kind: z.literal('transfer'), request: transferRequest }),
])

const startedSchema = z.object({ id: z.string(), kind: z.string(), status: z.string(), scheduleId: z.string() })

export type Schedule = z.infer<typeof scheduleSchema>
export type ScheduleRun = z.infer<typeof runSchema>
/** One end of a transfer: a project of the server that is asked, or of another one. */
export type TransferEnd = z.infer<typeof transferEnd>
export type StartedJob = z.infer<typeof startedSchema>

export const createSchedule = (http: HttpClient, body: object): Promise<Schedule> =>
  http.json({ method: 'POST', path: '/schedules', ...jsonBody(body) }, scheduleSchema)

export const listSchedules = (http: HttpClient): Promise<Schedule[]> =>
  listAll(http, { path: '/schedules', item: scheduleSchema })

export const getSchedule = (http: HttpClient, id: string): Promise<Schedule> =>
  http.json({ method: 'GET', path: encodedPath`/schedules/${id}` }, scheduleSchema)

export const setEnabled = (http: HttpClient, id: string, enabled: boolean): Promise<Schedule> =>
  http.json({ method: 'PATCH', path: encodedPath`/schedules/${id}`, ...jsonBody({ enabled }) }, scheduleSchema)

export const runSchedule = (http: HttpClient, id: string): Promise<StartedJob> =>
  http.json({ method: 'POST', path: encodedPath`/schedules/${id}/run` }, startedSchema)

export const deleteSchedule = (http: HttpClient, id: string): Promise<void> =>
  remove(http, encodedPath`/schedules/${id}`)
