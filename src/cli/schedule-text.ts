import { z } from 'zod'
import { COMPLETENESS_TEXT } from '../contract/completeness.ts'
import { type TransferEnd, transferRequest } from '../contract/export.ts'
import { added, type FromServer } from '../contract/from-server.ts'
import { runSchema, scheduleDetailSchema } from '../contract/schedule.ts'
import { formatCounted } from '../lib/units.ts'
import type { CommandContext } from './environment.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatFields, formatTable } from './terminal/table.ts'
import { formatWork, workSchema } from './work-text.ts'

const run = runSchema.omit({ byHand: true })
const texts = z.array(z.string())
const lastRuns = { lastRun: run.nullable(), lastSuccess: run.nullable(), lastProven: run.nullable() }

/** What is taken of each project. */
const taken = {
  system: added(z.boolean(), false),
  ...{ stages: texts.optional(), excludeTables: texts.optional(), grants: z.boolean().optional() },
}

/** What is shown of a schedule. */
export const shownSchedule = scheduleDetailSchema
  .omit({ createdBy: true, createdAt: true, runs: true, links: true })
  .extend({
    ...lastRuns,
    request: z.union([
      z.object({
        projects: z.array(z.object({ slug: z.string(), targetSlug: z.string().optional(), ...taken })),
        patterns: added(z.array(z.object({ pattern: z.string(), ...taken })), []),
        ...workSchema.shape,
      }),
      transferRequest
        .pick({ source: true, target: true })
        .extend({ ...taken, ...workSchema.omit({ compression: true }).shape }),
    ]),
    // Not in lists.
    nextRuns: added(scheduleDetailSchema.shape.nextRuns, []),
  })

/** The same with its newest runs. */
export const scheduleWithRuns = shownSchedule.extend({ runs: z.array(run) })

export type Schedule = FromServer<z.output<typeof shownSchedule>>

const HEADINGS = ['id', 'name', 'what', 'when', 'next run', 'last run', 'last proven']

/** Prints a schedule of which something was `done`. */
export const printSchedule = (
  context: CommandContext,
  options: ResultOptions,
  schedule: Schedule,
  done: string,
): Promise<number> =>
  printResult(context, options, {
    json: schedule,
    text: () => `${done} schedule ${printable(schedule.id)}\n${formatSchedule(schedule)}`,
  })

/** What a schedule does, line by line. */
export const formatSchedule = (schedule: Schedule): string => {
  const { keep, verify, nextRuns } = schedule
  return formatFields([
    ['name', schedule.name],
    ['what', whatOf(schedule)],
    ['system data', systemOf(schedule)],
    ...formatWork(schedule.request),
    ['when', whenOf(schedule)],
    ['keeps', keepsOf(keep)],
    ['verifies', verify ? 'every archive' : undefined],
    ['alarms', alarmsOf(schedule)],
    ['pings', pingOf(schedule)],
    ['next runs', nextRuns.length === 0 ? 'none: it is paused' : nextRuns.slice(0, 3).join(', ')],
  ])
}

/** Schedules as a table. */
export const formatSchedules = (schedules: readonly Schedule[], style: { readonly colors: boolean }): string =>
  schedules.length === 0 ? 'there are no schedules' : formatTable(HEADINGS, schedules.map(toCells), style)

const toCells = (schedule: Schedule): string[] => [
  schedule.id,
  schedule.name,
  whatOf(schedule),
  whenOf(schedule),
  schedule.nextRunAt ?? 'paused',
  runOf(schedule.lastRun),
  schedule.lastProven?.provenAt ?? '-',
]

const whenOf = ({ cron, timezone }: Schedule): string => `${cron} ${timezone}`

/** What a schedule has done, in words. */
export function whatOf({ kind, request }: Schedule): string {
  if ('projects' in request) {
    const names = [...request.projects.map(({ slug }) => slug), ...request.patterns.map(({ pattern }) => pattern)]
    return `${kind} of ${names.join(', ')}`
  }
  return `${kind} from ${nameOf(request.source)} to ${nameOf(request.target)}`
}

/** Whether the system half (roles, event log) goes along, and of which projects. */
function systemOf({ request }: Schedule): string {
  if (!('projects' in request)) return request.system ? 'included' : 'not included'
  const all = [
    ...request.projects.map(({ slug, system }) => ({ name: slug, system })),
    ...request.patterns.map(({ pattern, system }) => ({ name: pattern, system })),
  ]
  const included = all.filter(({ system }) => system)
  if (included.length === 0) return 'not included'
  return included.length === all.length ? 'included' : `of ${included.map(({ name }) => name).join(', ')}`
}

const nameOf = (end: TransferEnd): string => ('project' in end ? end.project : end.dsn)

function keepsOf({ last, days }: Schedule['keep']): string | undefined {
  const rules = [
    ...(last === undefined ? [] : [`the last ${last}`]),
    ...(days === undefined ? [] : [`those of the last ${days} days`]),
  ]
  return rules.length === 0 ? undefined : rules.join(', and ')
}

function alarmsOf({ alarms: { maxAgeHours, shrinkPercent }, overdueSince }: Schedule): string | undefined {
  const rules = [
    ...(maxAgeHours === undefined ? [] : [`last archive older than ${maxAgeHours} hours`]),
    ...(shrinkPercent === undefined ? [] : [`archive smaller by ${shrinkPercent} %`]),
    ...(overdueSince === null ? [] : [`too old since ${overdueSince}`]),
  ]
  return rules.length === 0 ? undefined : rules.join('; ')
}

function pingOf({ ping }: Schedule): string | undefined {
  if (ping === null) return undefined
  const times = ['success', ...(ping.start ? ['start'] : []), ...(ping.fail ? ['failure'] : [])]
  return `${ping.address} on ${times.join(', ')}${ping.enabled ? '' : '; disabled: it answered that it is gone'}`
}

/** What came of the last runs that succeeded, and lacks something; undefined where nothing is known that it does. */
export function formatLacking(schedules: readonly Schedule[]): string | undefined {
  const lacking = schedules.flatMap(({ name, lastSuccess: run }) =>
    run?.notExported && run.jobId ? [{ ...run, name, count: run.notExported, jobId: run.jobId }] : [],
  )
  const lines = lacking.map(({ name, count, jobId, lacksRows }) => {
    const text = COMPLETENESS_TEXT[lacksRows === null ? 'not known' : lacksRows ? 'rows missing' : 'no rows missing']
    const named = `${formatCounted(count, 'thing')}, named by job:show ${printable(jobId)}`
    return `warning: the last successful run of ${printable(name)} ${text}: ${named}`
  })
  return lines.length === 0 ? undefined : lines.join('\n')
}

export const runOf = (run: Schedule['lastRun']): string =>
  run === null ? 'never' : `${run.status}${run.error ? ` (${run.error.code})` : ''} ${run.finishedAt ?? run.dueAt}`
