import { readStatus, type ScheduleStatus, type Status } from '../../doctor/read-status.ts'
import { formatBytes, formatCounted } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatFields, formatTable } from '../terminal/table.ts'
import { withControl } from '../with-control.ts'

/**
 * `status`: says on one screen how the installation that is configured here does.
 *
 * @returns 0 where nobody need look at anything, else 1.
 */
export async function runStatus({ environment }: CommandContext, options: ResultOptions): Promise<number> {
  const config = await environment.loadServiceConfig()
  const status = await withControl(config, 'wharf status', (control) =>
    readStatus(control, config, environment.version),
  )
  await printResult({ environment }, options, { json: status, text: (style) => toText(status, style) })
  return status.problems.length === 0 ? EXIT.done : EXIT.failed
}

function toText(status: Status, style: { readonly colors: boolean }): string {
  const { version, database, processes, queue, jobs, schedules, storage, backup, problems } = status
  const waiting = jobs.waiting === 0 ? '' : ` (the oldest for ${Math.round(jobs.oldestWaitingSeconds)} s)`
  const fields = formatFields([
    ['Wharf', version],
    ['database', `${database.name} on PostgreSQL ${database.version}, ${formatBytes(database.bytes)}`],
    ['projects', String(database.projects)],
    ['processes', processes.map(toProcess).join(', ') || 'none'],
    [
      'queue',
      `${queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'}${queue.fault === null ? '' : ', which cannot be used'}`,
    ],
    ['jobs', `${jobs.waiting} waiting${waiting}, ${jobs.running} running, ${jobs.failed} failed in the last 24 hours`],
    [
      'archives',
      `${storage.archives}, ${formatBytes(storage.bytes)}, ${storage.damaged} damaged, in ${storage.location}`,
    ],
    ['backup', backup.lastAt ?? (backup.enabled ? 'none yet' : 'none: WHARF_BACKUP_KEY is not set')],
  ])
  const parts = [
    fields,
    ...(schedules.length > 0 ? [formatTable(HEADINGS, schedules.map(toCells), style)] : []),
    problems.length === 0 ? 'all is well' : [formatCounted(problems.length, 'problem'), ...problems].join('\n- '),
  ]
  return parts.join('\n\n')
}

const toProcess = ({ parts, host, pid, version }: Status['processes'][number]): string =>
  `${parts.join(' and ')} ${version} (${host}, ${pid})`

const HEADINGS = ['schedule', 'last run', 'last success', 'last proven', 'next run']

const toCells = ({ name, last, lastSuccessAt, lastProvenAt, nextRunAt }: ScheduleStatus): readonly string[] => [
  name,
  ...[last, lastSuccessAt, lastProvenAt].map((text) => text ?? '-'),
  nextRunAt ?? 'paused',
]
