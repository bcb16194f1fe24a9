import type { TransferEnd } from '../contract/export.ts'
import { wrongUse } from '../errors.ts'
import { parseServerTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { createSchedule, deleteSchedule, getSchedule, listSchedules, runSchedule, setEnabled } from './schedule-api.ts'
import { formatNotExported, formatSchedules, printSchedule, whatOf } from './schedule-text.ts'
import { projectOf, type Server, withServer } from './server.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { print } from './terminal/write.ts'

interface ScheduleOptions extends ResultOptions {
  readonly server?: string
}

export interface ScheduleCreateOptions extends ScheduleOptions {
  readonly name: string
  readonly cron: string
  readonly timezone?: string
  readonly project?: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
  readonly keepLast?: string
  readonly keepDays?: string
  readonly verify?: boolean
  readonly paused?: boolean
}

export interface ScheduleDeleteOptions extends ScheduleOptions, Confirmation {}

/** `schedule:create` */
export async function runScheduleCreate(
  context: CommandContext,
  { server, ...options }: ScheduleCreateOptions,
): Promise<number> {
  const schedule = await withServer(context, parseServerTarget(server), (opened) =>
    createSchedule(opened.http, {
      name: options.name,
      cron: options.cron,
      ...(options.timezone !== undefined && { timezone: options.timezone }),
      ...toAsked(options, opened),
      keep: {
        ...(options.keepLast !== undefined && { last: toCount('--keep-last', options.keepLast) }),
        ...(options.keepDays !== undefined && { days: toCount('--keep-days', options.keepDays) }),
      },
      verify: options.verify ?? false,
      enabled: !options.paused,
    }),
  )
  await printSchedule(context, options, schedule, 'created')
  return EXIT.done
}

/** `schedule:list` */
export async function runScheduleList(
  context: CommandContext,
  { server, ...options }: ScheduleOptions,
): Promise<number> {
  const schedules = await withServer(context, parseServerTarget(server), ({ http }) => listSchedules(http))
  const warning = formatNotExported(schedules)
  if (warning) await print(context.environment.stderr, warning)
  await printResult(context.environment, options, {
    json: { schedules },
    text: (style) => formatSchedules(schedules, style),
  })
  return EXIT.done
}

/** `schedule:pause` and `schedule:resume` */
export async function runScheduleEnable(
  context: CommandContext,
  id: string,
  { enabled, server, ...options }: ScheduleOptions & { readonly enabled: boolean },
): Promise<number> {
  const schedule = await withServer(context, parseServerTarget(server), ({ http }) => setEnabled(http, id, enabled))
  await printSchedule(context, options, schedule, enabled ? 'resumed' : 'paused')
  return EXIT.done
}

/** `schedule:run` */
export async function runScheduleRun(
  context: CommandContext,
  id: string,
  { server, ...options }: ScheduleOptions,
): Promise<number> {
  const job = await withServer(context, parseServerTarget(server), ({ http }) => runSchedule(http, id))
  await printResult(context.environment, options, { json: job, text: () => `started job ${printable(job.id)}` })
  return EXIT.done
}

/** `schedule:delete` */
export async function runScheduleDelete(
  context: CommandContext,
  id: string,
  { server, ...options }: ScheduleDeleteOptions,
): Promise<number> {
  assertCanConfirm(context, options)
  return withServer(context, parseServerTarget(server), async ({ http, place }) => {
    const schedule = await getSchedule(http, id)
    const consequence =
      `this ends schedule "${printable(schedule.name)}" (${printable(whatOf(schedule))})${place} for good; ` +
      'the archives that it made stay for as long as those of any other job'
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    await deleteSchedule(http, id)
    await printResult(context.environment, options, {
      json: { deleted: { id, name: schedule.name } },
      text: () => `deleted schedule ${printable(id)}`,
    })
    return EXIT.done
  })
}

/** An export of `--project`, unless `--from` or `--to` makes it a transfer. */
function toAsked(options: ScheduleCreateOptions, server: Server): object {
  const { project: projects = [], from, to, includeSystem = false, stage, excludeTable } = options
  const selection = {
    system: includeSystem,
    ...(stage && { stages: stage }),
    ...(excludeTable && { excludeTables: excludeTable }),
  }
  if (from === undefined && to === undefined) {
    const slugs = projects.length === 0 ? [projectOf(undefined, server)] : projects
    return { kind: 'export', request: { projects: slugs.map((slug) => ({ slug, ...selection })) } }
  }
  if (from === undefined || to === undefined) throw wrongUse('a transfer needs both --from and --to')
  if (projects.length > 0) throw wrongUse('--project names what is exported; a transfer has --from and --to')
  return { kind: 'transfer', request: { source: toEnd(from), target: toEnd(to), ...selection } }
}

const toEnd = (text: string): TransferEnd => (text.includes('://') ? { dsn: text } : { project: text })

function toCount(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw wrongUse(`${option} must be a whole number from 1`)
}
