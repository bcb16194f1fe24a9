import type { TransferEnd } from '../contract/export.ts'
import { jobSchema } from '../contract/job.ts'
import { wrongUse } from '../errors.ts'
import { hasWildcards } from '../lib/wildcards.ts'
import type { CommandContext } from './environment.ts'
import { readCompression, readReading, type SelectionOptions, toSelection } from './export/export-selection.ts'
import { findScheduleId } from './find-schedule.ts'
import { encodedPath, type HttpClient } from './http.ts'
import { formatChanged, formatRuns } from './schedule-runs.ts'
import {
  formatLacking,
  formatSchedule,
  formatSchedules,
  printSchedule,
  type Schedule,
  scheduleWithRuns,
  shownSchedule,
  whatOf,
} from './schedule-text.ts'
import { changedAlarms, newAlarms, readPing, type WatchOptions } from './schedule-watch.ts'
import { onServer, projectOf, type Server, type ServerOptions } from './server.ts'
import { get, listAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { print } from './terminal/write.ts'
import { toCount } from './to-count.ts'

interface ScheduleCreateOptions extends ServerOptions, SelectionOptions, WatchOptions {
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
  readonly zstd?: boolean
}

interface ScheduleEditOptions extends ServerOptions, WatchOptions {
  readonly name?: string
  readonly cron?: string
  readonly timezone?: string
  readonly keepLast?: string
  readonly keepDays?: string
  readonly verify?: boolean
}

/** What is shown of a job that a schedule has started. */
const startedJob = jobSchema.pick({ id: true, kind: true, status: true, scheduleId: true })

/** `schedule:create` */
export async function runScheduleCreate(context: CommandContext, options: ScheduleCreateOptions): Promise<number> {
  const { name, cron, timezone, keepLast, keepDays, verify = false, paused } = options
  const schedule = await onServer(context, options, async (server) => {
    const keep = { last: toCount('--keep-last', keepLast), days: toCount('--keep-days', keepDays) }
    const watched = { ...newAlarms(options), ...(await readPing(context, options)) }
    const body = { name, cron, timezone, ...toAsked(options, server), keep, verify, ...watched, enabled: !paused }
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
export async function runScheduleShow(context: CommandContext, name: string, options: ServerOptions): Promise<number> {
  const { runs, ...schedule } = await onServer(context, options, async ({ http }) =>
    get(http, await pathOf(http, name), scheduleWithRuns),
  )
  return printResult(context, options, {
    json: { ...schedule, runs },
    text: (style) => `${printable(schedule.id)}\n${formatSchedule(schedule)}\n\n${formatRuns(runs, style)}`,
  })
}

/** `schedule:pause` */
export const runSchedulePause = (context: CommandContext, name: string, options: ServerOptions): Promise<number> =>
  change(context, name, options, { done: 'paused', changes: async () => ({ enabled: false }) })

/** `schedule:resume` */
export const runScheduleResume = (context: CommandContext, name: string, options: ServerOptions): Promise<number> =>
  change(context, name, options, { done: 'resumed', changes: async () => ({ enabled: true }) })

/** `schedule:edit` */
export async function runScheduleEdit(
  context: CommandContext,
  name: string,
  options: ScheduleEditOptions,
): Promise<number> {
  const { cron, timezone, verify } = options
  const given = {
    ...(options.name !== undefined && { name: options.name }),
    ...(cron !== undefined && { cron }),
    ...(timezone !== undefined && { timezone }),
    ...(verify !== undefined && { verify }),
  }
  const rules = { last: toRule('--keep-last', options.keepLast), days: toRule('--keep-days', options.keepDays) }
  const changesRules = rules.last !== undefined || rules.days !== undefined
  const changesAlarms = options.alarmAge !== undefined || options.alarmShrink !== undefined
  const ping = await readPing(context, options)
  if (Object.keys({ ...given, ...ping }).length === 0 && !changesRules && !changesAlarms) {
    throw wrongUse(
      'say what to change: --name, --cron, --timezone, --keep-last, --keep-days, --verify, --no-verify, --alarm-age, ' +
        '--alarm-shrink or --ping',
    )
  }
  return change(context, name, options, {
    done: 'changed',
    // Both rules are replaced at once, and both alarms; what is not named stays.
    changes: async (read) => ({
      ...{ ...given, ...ping },
      ...(changesRules && { keep: withRules((await read()).keep, rules) }),
      ...(changesAlarms && { alarms: changedAlarms((await read()).alarms, options) }),
    }),
  })
}

type Rule = number | 'none' | undefined

const withRules = (keep: Schedule['keep'], rules: { readonly last: Rule; readonly days: Rule }): object => {
  const { last = keep.last, days = keep.days } = rules
  return {
    ...(last !== undefined && last !== 'none' && { last }),
    ...(days !== undefined && days !== 'none' && { days }),
  }
}

const toRule = (option: string, text: string | undefined): Rule => (text === 'none' ? text : toCount(option, text))

async function change(
  context: CommandContext,
  name: string,
  options: ServerOptions,
  { done, changes }: { readonly done: string; readonly changes: (read: () => Promise<Schedule>) => Promise<object> },
): Promise<number> {
  const schedule = await onServer(context, options, async ({ http }) => {
    const path = await pathOf(http, name)
    const body = await changes(() => get(http, path, shownSchedule))
    return send(http, { method: 'PATCH', path, body }, shownSchedule)
  })
  return printSchedule(context, options, schedule, done)
}

/** @param name of a schedule, or its id. */
const pathOf = async (http: HttpClient, name: string): Promise<string> =>
  encodedPath`/schedules/${await findScheduleId(http, name)}`

/** `schedule:run` */
export async function runScheduleRun(context: CommandContext, name: string, options: ServerOptions): Promise<number> {
  const job = await onServer(context, options, async ({ http }) =>
    http.json({ method: 'POST', path: `${await pathOf(http, name)}/run` }, startedJob),
  )
  return printResult(context, options, { json: job, text: () => `started job ${printable(job.id)}` })
}

/** `schedule:delete` */
export async function runScheduleDelete(
  context: CommandContext,
  name: string,
  options: ServerOptions & Confirmation,
): Promise<number> {
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = await pathOf(http, name)
    const schedule = await get(http, path, shownSchedule)
    const { id } = schedule
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
  const allowed = { ...(options.allowIncomplete && { allowIncomplete: true }), ...readReading(options) }
  if (from === undefined && to === undefined) {
    const all = projects.length === 0 ? [projectOf(undefined, server)] : projects
    const selection = toSelection(options)
    const slugs = all.filter((text) => !hasWildcards(text)).map((slug) => ({ slug, ...selection }))
    const patterns = all.filter(hasWildcards).map((pattern) => ({ pattern, ...selection }))
    return {
      kind: 'export',
      request: { projects: slugs, ...(patterns.length > 0 && { patterns }), ...allowed, ...readCompression(options) },
    }
  }
  if (from === undefined || to === undefined) throw wrongUse('a transfer needs both --from and --to')
  if (options.zstd) throw wrongUse('--zstd is about the archives of exports; a transfer keeps none')
  if (projects.length > 0) throw wrongUse('--project names what is exported; a transfer has --from and --to')
  return { kind: 'transfer', request: { source: toEnd(from), target: toEnd(to), ...toSelection(options), ...allowed } }
}

const toEnd = (text: string): TransferEnd => (text.includes('://') ? { dsn: text } : { project: text })
