import { z } from 'zod'
import type { Container } from '../../container.ts'
import type { scheduledExportRequest, transferRequest } from '../../contract/export.ts'
import { id } from '../../contract/fields.ts'
import { jobSchema } from '../../contract/job.ts'
import { pageOf } from '../../contract/page.ts'
import {
  changedSchedule,
  keepPreviewSchema,
  keepSchema,
  newSchedule,
  nextRunsSchema,
  scheduleDetailSchema,
  scheduleSchema,
  timingRequest,
} from '../../contract/schedule.ts'
import { assertMayRun } from '../../jobs/authorisation.ts'
import { assertCanCompress } from '../../jobs/compression.ts'
import { findMatching } from '../../jobs/matching-projects.ts'
import { nextRuns } from '../../jobs/schedules/cron.ts'
import { runNow } from '../../jobs/schedules/fire.ts'
import { listRuns, summariseRuns } from '../../jobs/schedules/runs.ts'
import type { Schedule } from '../../jobs/schedules/schedule.ts'
import {
  type Asked,
  changeSchedule,
  createSchedule,
  deleteSchedule,
  findOwnSchedule,
  findSchedule,
  listSchedules,
} from '../../jobs/schedules/schedules.ts'
import { previewKeeping } from '../../jobs/schedules/settle.ts'
import { readPings } from '../../notifications/ping.ts'
import type { Caller } from '../../projects/access.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import { empty, json } from '../answer.ts'
import { jsonBody } from '../body.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { jobPath, toJobBody } from './job-body.ts'
import { schedulePath, toKeptBody, toScheduleBody, toScheduleDetailBody } from './schedule-body.ts'
import { prepareTransfer } from './transfer.ts'

const route = routesUnder('Schedules')

/** How many runs are shown of one schedule. */
const SHOWN_RUNS = 30

/** How many times are said at which one would be due. */
const NEXT_RUNS = 5

const params = z.object({ id })

const list = route('GET /schedules', {
  operationId: 'listSchedules',
  summary: 'Schedules, in the order in which they were made',
  description: 'The root token sees all; any other token sees those whose jobs it could ask for itself.',
  access: { by: 'token' },
  query: z.object({ ...pageQuery, after: id.optional() }),
  answers: { 200: json(pageOf(scheduleSchema), 'A page of schedules.') },
})

const create = route('POST /schedules', {
  operationId: 'createSchedule',
  summary: 'Creates a schedule: an export or a transfer that is repeated',
  description:
    'Needs what the job itself needs. Its jobs run in the name of this token, and fail once it is not allowed to start ' +
    'them any more. Times that are missed while no process runs are made up for by one run; a time at which the previous ' +
    'run has not ended is skipped.',
  access: {
    by: 'request',
    permissions: ['content.export', 'content.import'],
    system: ['system.export', 'system.import'],
  },
  body: jsonBody(newSchedule),
  answers: { 201: json(scheduleDetailSchema, 'The new schedule.', { location: 'Path of the schedule.' }) },
  errors: ['ATTACHED_FAILED', 'ATTACHED_PROJECT'],
})

const preview = route('POST /schedules/preview', {
  operationId: 'previewSchedule',
  summary: 'Says when a schedule would be due; makes none',
  access: { by: 'token' },
  body: jsonBody(timingRequest),
  answers: { 200: json(nextRunsSchema, 'The next times.') },
})

const previewKeep = route('POST /schedules/{id}/keep-preview', {
  operationId: 'previewKeep',
  summary: 'Says which archives rules would let go of; changes nothing',
  description: 'As if the rules counted now. With them, the archives go once a newer run has succeeded.',
  access: { by: 'asker', of: 'schedule' },
  params,
  body: jsonBody(keepSchema),
  answers: { 200: json(keepPreviewSchema, 'The archives of the schedule, and which would stay.') },
})

const show = route('GET /schedules/{id}', {
  operationId: 'showSchedule',
  summary: 'One schedule, with its newest runs',
  access: { by: 'asker', of: 'schedule' },
  params,
  answers: { 200: json(scheduleDetailSchema, 'The schedule.') },
})

const change = route('PATCH /schedules/{id}', {
  operationId: 'changeSchedule',
  summary: 'Changes the given fields of a schedule; `enabled` pauses and resumes it',
  description:
    'Runs that were missed while a schedule was paused are not made up for. With another `request`, it runs in the name of ' +
    'the token that changed it from then on: the root token too.',
  access: { by: 'author', of: 'schedule' },
  params,
  body: jsonBody(changedSchedule),
  answers: { 200: json(scheduleDetailSchema, 'The schedule as it is now.') },
  errors: ['ATTACHED_FAILED', 'ATTACHED_PROJECT'],
})

const remove = route('DELETE /schedules/{id}', {
  operationId: 'deleteSchedule',
  summary: 'Deletes a schedule; its archives stay for as long as those of any other job',
  access: { by: 'author', of: 'schedule' },
  params,
  answers: { 204: empty('The schedule is gone.') },
})

const run = route('POST /schedules/{id}/run', {
  operationId: 'runSchedule',
  summary: 'Runs a schedule now, enabled or not',
  access: { by: 'author', of: 'schedule' },
  params,
  answers: {
    202: json(jobSchema, 'The job, which goes on by itself.', {
      location: 'Path of the job.',
      'retry-after': 'How many seconds to wait before asking about the job.',
    }),
  },
  errors: ['CONFLICT', 'QUEUE_UNAVAILABLE'],
})

/** `/schedules` */
export function scheduleRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { control, config } = container
  const database = control.prisma

  const detailOf = async (schedule: Schedule) => {
    const summary = await summariseRuns(database, [schedule.id])
    const pings = await readPings(database, [schedule.id])
    const runs = await listRuns(database, schedule.id, SHOWN_RUNS)
    return toScheduleDetailBody(schedule, { summary: summary.get(schedule.id), ping: pings.get(schedule.id), runs })
  }

  return [
    list.handle<Caller>(async ({ query, caller }) => {
      const find = (limit: number) => listSchedules(database, caller, { ...query, limit })
      const { items, next } = await readPage(query, find, ({ id }) => id)
      const ids = items.map(({ id }) => id)
      const [runs, pings] = [await summariseRuns(database, ids), await readPings(database, ids)]
      const bodies = items.map((each) => toScheduleBody(each, runs.get(each.id), pings.get(each.id)))
      return { status: 200, body: { items: bodies, next } }
    }),
    create.handle<Caller>(async ({ body, caller }) => {
      const asked = await askedFor(container, caller, body.request)
      const schedule = await createSchedule(container, caller, { ...body, ...asked })
      return { status: 201, headers: { location: schedulePath(schedule) }, body: await detailOf(schedule) }
    }),
    preview.handle<Caller>(async ({ body }) => {
      const times = nextRuns(body, new Date(), NEXT_RUNS)
      return { status: 200, body: { nextRuns: times.map((time) => time.toISOString()) } }
    }),
    previewKeep.handle<Caller>(async ({ params: { id: scheduleId }, body, caller }) => {
      await findSchedule(database, caller, scheduleId)
      const archives = (await previewKeeping(database, scheduleId, body)).map(toKeptBody)
      return { status: 200, body: { archives } }
    }),
    show.handle<Caller>(async ({ params: { id: scheduleId }, caller }) => {
      return { status: 200, body: await detailOf(await findSchedule(database, caller, scheduleId)) }
    }),
    change.handle<Caller>(async ({ params: { id: scheduleId }, body: { request, ...changes }, caller }) => {
      await findOwnSchedule(database, caller, scheduleId)
      const asked = request && (await askedFor(container, caller, request))
      const changed = { ...changes, ...(asked && { request: asked }) }
      return { status: 200, body: await detailOf(await changeSchedule(container, caller, scheduleId, changed)) }
    }),
    remove.handle<Caller>(async ({ params: { id: scheduleId }, caller }) => {
      await deleteSchedule(container, caller, scheduleId, config.artifactDays)
      return { status: 204 }
    }),
    run.handle<Caller>(async ({ params: { id: scheduleId }, caller }) => {
      const job = await runNow(container, caller, scheduleId)
      return { status: 202, headers: { location: jobPath(job), 'retry-after': '1' }, body: toJobBody(job) }
    }),
  ]
}

type ScheduledBody = z.output<typeof scheduledExportRequest> | z.output<typeof transferRequest>

/**
 * What the jobs of a schedule are asked for with; the form of the request decides their kind.
 *
 * @throws {AppError} what the job would be refused for, as far as that can be known now.
 */
async function askedFor(container: Container, caller: Caller, body: ScheduledBody): Promise<Asked> {
  if (!('projects' in body)) {
    const { request, secrets } = await prepareTransfer(container, caller, body)
    return { asked: request, secrets }
  }
  const asked = { kind: 'export', request: body } as const
  assertMayRun(caller, asked)
  assertCanCompress(body.compression)
  for (const selection of body.projects) await findSelection(container.control.prisma, selection)
  if (body.patterns) await findMatching(container.control.prisma, caller, body.patterns)
  return { asked, secrets: {} }
}
