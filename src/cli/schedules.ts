import type { TransferEnd } from '../contract/export.ts'
import { jobSchema } from '../contract/job.ts'
import { wrongUse } from '../errors.ts'
import { hasWildcards } from '../lib/wildcards.ts'
import type { CommandContext } from './environment.ts'
import { type SelectionOptions, toSelection } from './export/export-selection.ts'
import { encodedPath } from './http.ts'
import { formatChanged, formatRuns } from './schedule-runs.ts'
import {
  formatLacking,
  formatSchedule,
  formatSchedules,
  printSchedule,
  scheduleWithRuns,
  shownSchedule,
  whatOf,
} from './schedule-text.ts'
import { onServer, projectOf, type Server, type ServerOptions } from './server.ts'
import { get, listAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { print } from './terminal/write.ts'

interface ScheduleCreateOptions extends ServerOptions, SelectionOptions {
  readonly name: string
  readonly cron: string
  readonly timezone?: string
  readonly project?: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly keepLast?: string
  readonly keepDays?: string
  readonly verify?: boolean
  readonly paused?: boolean
}

/** What is shown of a job that a schedule has started. */
const startedJob = jobSchema.pick({ id: true, kind: true, status: true, scheduleId: true })

/** `schedule:create` */
export async function runScheduleCreate(context: CommandContext, options: ScheduleCreateOptions): Promise<number> {
  const { name, cron, timezone, keepLast, keepDays, verify = false, paused } = options
  const schedule = await onServer(context, options, (server) => {
    const keep = { last: toCount('--keep-last', keepLast), days: toCount('--keep-days', keepDays) }
    const body = { name, cron, timezone, ...toAsked(options, server), keep, verify, enabled: !paused }
    return send(server.http, { method: 'POST', path: '/schedules', body }, shownSchedule)
  })
  return printSchedule(context, options, schedule, 'created')
}

/** `schedule:list` */
export async function runScheduleList(context: CommandContext, options: ServerOptions): Promise<number> {
  const schedules = await onServer(context, options, ({ http }) =>
    listAll(http, { path: '/schedules', item: shownSchedule }),
  )
  for (const warning of [formatLacking(schedules), formatChanged(schedules)]) {
    if (warning) await print(context.environment.stderr, warning)
  }
  return printResult(context, options, { json: { schedules }, text: (style) => formatSchedules(schedules, style) })
}

/** `schedule:show` */
export async function runScheduleShow(context: CommandContext, id: string, options: ServerOptions): Promise<number> {
  const path = encodedPath`/schedules/${id}`
  const { runs, ...schedule } = await onServer(context, options, ({ http }) => get(http, path, scheduleWithRuns))
  return printResult(context, options, {
    json: { ...schedule, runs },
    text: (style) => `${printable(schedule.id)}\n${formatSchedule(schedule)}\n\n${formatRuns(runs, style)}`,
  })
}

/** `schedule:pause` */
export const runSchedulePause = (context: CommandContext, id: string, options: ServerOptions): Promise<number> =>
  setEnabled(context, id, options, false)

/** `schedule:resume` */
export const runScheduleResume = (context: CommandContext, id: string, options: ServerOptions): Promise<number> =>
  setEnabled(context, id, options, true)

async function setEnabled(
  context: CommandContext,
  id: string,
  options: ServerOptions,
  enabled: boolean,
): Promise<number> {
  const call = { method: 'PATCH', path: encodedPath`/schedules/${id}`, body: { enabled } } as const
  const schedule = await onServer(context, options, ({ http }) => send(http, call, shownSchedule))
  return printSchedule(context, options, schedule, enabled ? 'resumed' : 'paused')
}

/** `schedule:run` */
export async function runScheduleRun(context: CommandContext, id: string, options: ServerOptions): Promise<number> {
  const call = { method: 'POST', path: encodedPath`/schedules/${id}/run` } as const
  const job = await onServer(context, options, ({ http }) => http.json(call, startedJob))
  return printResult(context, options, { json: job, text: () => `started job ${printable(job.id)}` })
}

/** `schedule:delete` */
export async function runScheduleDelete(
  context: CommandContext,
  id: string,
  options: ServerOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = encodedPath`/schedules/${id}`
    const schedule = await get(http, path, shownSchedule)
    const consequence =
      `this ends schedule "${printable(schedule.name)}" (${printable(whatOf(schedule))})${location} for good; ` +
      'the archives that it made stay for as long as those of any other job'
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, path)
      return { json: { deleted: { id, name: schedule.name } }, text: () => `deleted schedule ${printable(id)}` }
    })
  })
}

/** An export of `--project`, unless `--from` or `--to` makes it a transfer. */
function toAsked(options: ScheduleCreateOptions, server: Server): object {
  const { project: projects = [], from, to } = options
  const allowed = options.allowIncomplete ? { allowIncomplete: true } : {}
  if (from === undefined && to === undefined) {
    const all = projects.length === 0 ? [projectOf(undefined, server)] : projects
    const selection = toSelection(options)
    const slugs = all.filter((text) => !hasWildcards(text)).map((slug) => ({ slug, ...selection }))
    const patterns = all.filter(hasWildcards).map((pattern) => ({ pattern, ...selection }))
    return {
      kind: 'export',
      request: { projects: slugs, ...(patterns.length > 0 && { patterns }), ...allowed },
    }
  }
  if (from === undefined || to === undefined) throw wrongUse('a transfer needs both --from and --to')
  if (projects.length > 0) throw wrongUse('--project names what is exported; a transfer has --from and --to')
  return { kind: 'transfer', request: { source: toEnd(from), target: toEnd(to), ...toSelection(options), ...allowed } }
}

const toEnd = (text: string): TransferEnd => (text.includes('://') ? { dsn: text } : { project: text })

function toCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw wrongUse(`${option} must be a whole number from 1`)
}
