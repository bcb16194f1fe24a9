import type { FromServer } from '../contract/from-server.ts'
import type { MatchedProjects } from '../contract/matched.ts'
import type { Schedule } from './schedule-text.ts'
import { printable } from './terminal/printable.ts'
import { formatTable } from './terminal/table.ts'

type Run = NonNullable<Schedule['lastRun']>
type Matched = FromServer<MatchedProjects>

/** The runs of a schedule as a table. */
export function formatRuns(runs: readonly Run[], style: { readonly colors: boolean }): string {
  if (runs.length === 0) return 'it has not run yet'
  const rows = runs.map(({ dueAt, status, error, provenAt, archiveDamagedAt, jobId, matched }) => [
    ...[
      dueAt,
      error ? `${status} (${error.code})` : status,
      archiveDamagedAt ? 'damaged' : (provenAt ?? '-'),
      jobId ?? '-',
    ],
    matched ? changesOf(matched).join('; ') : '',
  ])
  const table = formatTable(['due', 'status', 'proven', 'job', 'new and gone'], rows, style)
  return [table, ...faultsOf(runs[0])].join('\n')
}

/** What was at fault in a run, where it says so: what differed after the restore of a proof. */
const faultsOf = (run: Run | undefined): readonly string[] =>
  run?.error
    ? ['', `${run.dueAt}: ${run.error.detail}`, ...run.error.errors.map(({ detail }) => `    ${detail}`)].map(printable)
    : []

/** What the last runs that succeeded did not export, since it is gone or was refused; undefined where there is nothing. */
export function formatChanged(schedules: readonly Schedule[]): string | undefined {
  const lines = schedules.flatMap(({ name, lastSuccess }) =>
    lastSuccess?.matched ? warningsOf(lastSuccess.matched).map((each) => `${name}: ${each}`) : [],
  )
  return lines.length === 0
    ? undefined
    : lines.map((line) => printable(`warning: the last successful run of ${line}`)).join('\n')
}

/** In words, for people. */
export const changesOf = (matched: Matched): readonly string[] => [
  ...(matched.newProjects.length === 0 ? [] : [`new: ${matched.newProjects.join(', ')}`]),
  ...warningsOf(matched),
]

export const warningsOf = ({ goneProjects, refused }: Matched): readonly string[] => [
  ...goneProjects.map(({ project, stage, gone }) => {
    const subject = stage === null ? project : `${project}/${stage}`
    return `gone: ${subject} (${MEANING[gone] ?? gone})`
  }),
  ...refused.map(({ server, database, reason }) => `refused: ${database} of server ${server} (${reason})`),
]

const MEANING: Readonly<Record<string, string>> = {
  project: 'there is no such project any more',
  database: 'its database is not there any more; project:detach forgets it',
  schema: 'its schema is not there any more; stage:detach forgets it',
  permission: 'it may not be exported any more',
}
