import type { Database } from '../database/database.ts'
import { type RunSummary, summariseRuns } from '../jobs/schedules/runs.ts'
import { createBatcher } from '../lib/batcher.ts'
import { type AddGauge, type Figures, secondsOf } from './figures.ts'

/**
 * Figures about schedules that are enabled, by their ids, and about projects: what an alarm about a backup that has stopped
 * working needs. They reveal nothing but names, since `/metrics` needs no token.
 */
export function addScheduleMetrics(addGauge: AddGauge, { prisma }: Database): void {
  const select = { id: true, name: true, kind: true, verify: true } as const
  const findEnabled = () => prisma.schedule.findMany({ where: { enabled: true }, select })
  addGauge(
    'wharf_schedule_info',
    'What an enabled schedule is called; always 1.',
    ['schedule', 'name', 'kind'],
    async () => {
      const enabled = await findEnabled()
      return enabled.map(({ id, name, kind }) => [{ schedule: id, name, kind }, 1])
    },
  )
  const ofSchedules =
    (figureOf: (runs: RunSummary, verify: boolean) => number | undefined) => async (): Promise<Figures> => {
      const enabled = await findEnabled()
      const summaries = await summariseRuns(
        prisma,
        enabled.map(({ id }) => id),
      )
      return enabled.flatMap(({ id, verify }) => {
        const runs = summaries.get(id)
        const figure = runs && figureOf(runs, verify)
        return figure === undefined ? [] : [[{ schedule: id }, figure] as const]
      })
    }
  addGauge(
    'wharf_schedule_late_seconds',
    'For how long a schedule has been due, and nothing has run it; 0 where it is not due.',
    ['schedule'],
    async () => {
      const rows = await prisma.$queryRaw<{ schedule: string; seconds: number }[]>`
        SELECT id::text AS schedule, greatest(extract(epoch FROM now() - next_run_at), 0)::float8 AS seconds
          FROM control.schedule WHERE enabled AND next_run_at IS NOT NULL`
      return rows.map(({ schedule, seconds }) => [{ schedule }, seconds])
    },
  )
  addArchiveGauges(addGauge, prisma)
  addGauge(
    'wharf_schedule_last_success_timestamp_seconds',
    'When the last run that succeeded ended; 0 where none has.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => secondsOf(lastSuccess?.finishedAt)),
  )
  addGauge(
    'wharf_schedule_last_proven_timestamp_seconds',
    'When an archive was last restored, and was the same; 0 where none was, left out where none is to be.',
    ['schedule'],
    ofSchedules(({ lastProven }, verify) => (verify ? secondsOf(lastProven?.provenAt) : undefined)),
  )
  addGauge(
    'wharf_schedule_last_run_failed',
    'Whether the last run failed: 1 or 0.',
    ['schedule'],
    ofSchedules(({ last }) => (last?.status === 'failed' ? 1 : 0)),
  )
  addGauge(
    'wharf_schedule_last_incomplete',
    'Whether what the last run that succeeded made lacks rows: 1 or 0; left out where that is not known.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => toFigure(lastSuccess?.lacksRows)),
  )
  addGauge(
    'wharf_schedule_last_gone',
    'How much of what the patterns of a schedule stand for the last run that succeeded did not have, since it is gone or ' +
      'could not be attached; left out where it has no patterns.',
    ['schedule'],
    ofSchedules(({ lastSuccess }) => {
      const matched = lastSuccess?.matched
      return matched ? matched.goneProjects.length + matched.refused.length : undefined
    }),
  )
}

const toFigure = (flag: boolean | null | undefined): number | undefined =>
  flag === null || flag === undefined ? undefined : Number(flag)

interface NewestArchives {
  readonly slug: string
  readonly madeAt: Date | null
  readonly provenAt: Date | null
}

/** What there is to go back to of each project, by its slug: of archives that are kept, and not known to be damaged. */
function addArchiveGauges(addGauge: AddGauge, prisma: Database['prisma']): void {
  const read = (): Promise<NewestArchives[]> => prisma.$queryRaw`
    WITH newest AS (
      SELECT project_id, max(job.finished_at) AS made_at,
             max(job.finished_at) FILTER (WHERE artifact.proven_at <= now()) AS proven_at
        FROM control.artifact JOIN control.job ON job.id = job_id CROSS JOIN unnest(job.project_ids) AS project_id
       WHERE artifact.kind = 'output' AND artifact.state = 'ready' AND artifact.damaged_at IS NULL
         AND job.finished_at <= now()
       GROUP BY project_id)
    SELECT slug, made_at AS "madeAt", proven_at AS "provenAt" FROM control.project LEFT JOIN newest ON project_id = project.id
     WHERE scratch_for IS NULL AND NOT unfinished`
  // Both figures are asked for together, and share one answer.
  const readTogether = createBatcher<undefined, readonly NewestArchives[]>(async () => new Map([['', await read()]]))
  const newest = async (which: 'madeAt' | 'provenAt'): Promise<Figures> => {
    const rows = (await readTogether('', undefined)) ?? []
    return rows.map((row) => [{ project: row.slug }, secondsOf(row[which])])
  }
  addGauge(
    'wharf_project_last_archive_timestamp_seconds',
    'Of when the newest archive with data of a project is that is kept; 0 where there is none.',
    ['project'],
    () => newest('madeAt'),
  )
  addGauge(
    'wharf_project_last_proven_timestamp_seconds',
    'Of when the newest such archive is that was restored, and was the same; 0 where there is none.',
    ['project'],
    () => newest('provenAt'),
  )
}
