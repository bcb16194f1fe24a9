import { z } from 'zod'
import { exportRequest, transferRequest } from '../contract/export.ts'
import { added, type FromServer } from '../contract/from-server.ts'
import { jobSchema } from '../contract/job.ts'
import { runSchema, scheduleDetailSchema } from '../contract/schedule.ts'
import { encodedPath, type HttpClient, jsonBody } from './http.ts'
import { listAll, remove } from './server-api.ts'

const run = runSchema.omit({ byHand: true })
const lastRuns = { lastRun: run.nullable(), lastSuccess: run.nullable(), lastProven: run.nullable() }

const shown = scheduleDetailSchema.omit({ createdBy: true, createdAt: true, runs: true, links: true }).extend({
  ...lastRuns,
  request: z.union([
    z.object({ projects: z.array(exportRequest.shape.projects.element.pick({ slug: true })) }),
    transferRequest.pick({ source: true, target: true }),
  ]),
  // Not in lists.
  nextRuns: added(scheduleDetailSchema.shape.nextRuns, []),
})

const started = jobSchema.pick({ id: true, kind: true, status: true, scheduleId: true })

export type Schedule = FromServer<z.output<typeof shown>>
export type ScheduleRun = FromServer<z.output<typeof run>>
export type StartedJob = FromServer<z.output<typeof started>>

export const createSchedule = (http: HttpClient, body: object): Promise<Schedule> =>
  http.json({ method: 'POST', path: '/schedules', ...jsonBody(body) }, shown)

export const listSchedules = (http: HttpClient): Promise<Schedule[]> =>
  listAll(http, { path: '/schedules', item: shown })

export const getSchedule = (http: HttpClient, id: string): Promise<Schedule> =>
  http.json({ method: 'GET', path: encodedPath`/schedules/${id}` }, shown)

export const setEnabled = (http: HttpClient, id: string, enabled: boolean): Promise<Schedule> =>
  http.json({ method: 'PATCH', path: encodedPath`/schedules/${id}`, ...jsonBody({ enabled }) }, shown)

export const runSchedule = (http: HttpClient, id: string): Promise<StartedJob> =>
  http.json({ method: 'POST', path: encodedPath`/schedules/${id}/run` }, started)

export const deleteSchedule = (http: HttpClient, id: string): Promise<void> =>
  remove(http, encodedPath`/schedules/${id}`)
