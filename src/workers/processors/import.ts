import type { RowsPolicy } from '../../archive/assert-rows.ts'
import { completenessOf } from '../../contract/completeness.ts'
import type { Transaction } from '../../database/database.ts'
import { gone } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { readInput } from '../../jobs/job-artifacts.ts'
import type { ProgressTracker } from '../../jobs/progress.ts'
import { sessionNameOf } from '../../jobs/transitions.ts'
import { tap } from '../../lib/tap.ts'
import type { ArchiveProject } from '../../transfer/import/archive-lists.ts'
import { finishCommitted } from '../../transfer/import/external/finish-committed.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import type { ArchiveSource, LoadedRows } from '../../transfer/import/import-options.ts'
import { toCompleteness } from '../../transfer/import/import-result.ts'
import type { ResumableAttempt } from '../../transfer/import/resume/stage-saves.ts'
import { admitLastStage } from '../../transfer/import/structure-permission.ts'
import type { AttemptContext } from './processor.ts'

/** Imports the upload that was stored with the job. */
export async function runImport(
  context: AttemptContext,
  { projects, allowEdited, allowIncomplete, jobs }: ImportRequest,
): Promise<void> {
  const { container, job } = context
  const input = await readInput(container, job.id)
  if (!input) throw gone('the upload is not there any more')
  context.progress.update({ phase: 'checking' })
  const targets = projects.map(({ targetSlug }) => targetSlug)
  const { id: jobId, attempt } = job
  await importForJob(context, (use) => use(input.bytes), {
    ...{ targets, allowEdited, allowIncomplete, jobs },
    attempt: { jobId, attempt, archive: input.identity, saveMs: container.jobTimings.saveMs },
  })
}

interface Arriving extends RowsPolicy {
  /** Slugs, in the order of the archive's projects. */
  readonly targets: readonly string[]
  readonly allowEdited: boolean
  /** How many sessions load one stage, at most. */
  readonly jobs?: number | undefined
  /** As `ImportOptions` has it; undefined where the next attempt may have another archive. */
  readonly attempt?: ResumableAttempt
}

/**
 * Imports an archive, and ends the job in the transaction that makes its rows visible.
 */
export async function importForJob(
  { container, job, signal, progress, sessionName, authorise, succeed }: AttemptContext,
  source: ArchiveSource,
  { targets, ...policy }: Arriving,
): Promise<void> {
  const finish = (tx: Transaction, result: unknown): Promise<void> => succeed(tx, result)
  if (job.attempt > 1 && (await isImported({ container, job, attempts: job.attempt - 1 }, targets, finish))) return
  const { onRows, onReceived } = trackLoading(progress)
  const count = (chunk: Buffer): void => {
    signal.throwIfAborted()
    progress.addBytes(chunk.length)
  }
  await importArchive(container, (use) => source((bytes) => use(tap(bytes, count))), {
    targetsOf: () => targets,
    tokenId: job.createdBy,
    operation: job,
    restOfResult: toRestOfResult,
    admit: (projects) => admitLastStage(container, job.createdBy, projects, targets),
    authorise,
    signal,
    ...policy,
    sessionName,
    onReceived,
    onRows,
    beforeCommit: (tx, imported, projects) => succeed(tx, { projects: imported, ...toRestOfResult(projects) }),
  })
  const { parts, partsBefore } = progress.current()
  if (partsBefore === 0) return
  const { id: jobId, attempt } = job
  container.logger.info(
    { jobId, attempt, parts, partsBefore },
    'an import went on from what an earlier attempt had loaded',
  )
}

/**
 * Whether one of so many attempts has imported into a database that is not Wharf's, and could not say so.
 *
 * @param succeed says so.
 * @throws {AppError} CONFLICT where nobody can say.
 */
export async function isImported(
  {
    container,
    job: { id, createdBy },
    attempts,
  }: Pick<AttemptContext, 'container' | 'job'> & { readonly attempts: number },
  targets: readonly string[],
  succeed: (tx: Transaction, result: unknown) => Promise<void>,
): Promise<boolean> {
  const [target] = targets
  if (target === undefined || targets.length > 1) return false
  const sessionNames = Array.from({ length: attempts }, (_, index) => sessionNameOf({ id, attempt: index + 1 }))
  return finishCommitted(container, { id, sessionNames, target, tokenId: createdBy }, (tx, { imported, rest }) =>
    succeed(tx, { projects: imported, ...rest }),
  )
}

/** Shows how much has been loaded, but only once everything has been received. */
function trackLoading(progress: ProgressTracker): {
  readonly onRows: (loaded: LoadedRows) => void
  readonly onReceived: (projects: readonly ArchiveProject[]) => void
} {
  const byStage = new Map<string, LoadedRows>()
  const loaded = (what: 'rows' | 'parts' | 'partsBefore'): number =>
    [...byStage.values()].reduce((total, each) => total + each[what], 0)
  let rowsTotal: number | undefined
  return {
    onRows(ofStage) {
      const { project, stage, table } = ofStage
      byStage.set(`${project}/${stage}`, ofStage)
      progress.update({ parts: loaded('parts'), partsBefore: loaded('partsBefore') })
      if (rowsTotal === undefined) return
      const rows = loaded('rows')
      if (rows < rowsTotal) progress.update({ rows, stage, table })
      else progress.update({ rows, stage, table: null, phase: 'finishing' })
    },
    onReceived(projects) {
      const rows = loaded('rows')
      rowsTotal = totalRows(projects)
      const phase = rows < rowsTotal ? 'loading' : 'finishing'
      progress.update({ phase, rows, rowsTotal, stage: null, table: null })
    },
  }
}

const totalRows = (projects: readonly ArchiveProject[]): number =>
  projects
    .flatMap(({ stages }) => stages)
    .flatMap(({ tables }) => tables)
    .reduce((total, { rows }) => total + rows, 0)

/** What the result says of an archive besides what went where. */
const toRestOfResult = (projects: readonly ArchiveProject[]) => {
  const lacking = toCompleteness(projects)
  const systems = projects.filter(({ system }) => system)
  const sum = (count: (project: ArchiveProject) => number): number =>
    systems.reduce((total, project) => total + count(project), 0)
  const system = { roles: sum(({ roles }) => roles.length), events: sum(({ events }) => events) }
  return {
    system: systems.length === 0 ? null : system,
    ...lacking,
    lacksRows: completenessOf(lacking) === 'rows missing',
  }
}
