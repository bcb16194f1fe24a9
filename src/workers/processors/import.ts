import { gone } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { findInput } from '../../jobs/job-artifacts.ts'
import type { ProgressTracker } from '../../jobs/progress.ts'
import type { PlannedProject } from '../../transfer/import/archive-plan.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import type { LoadedPart } from '../../transfer/import/load-stage.ts'
import { type SpooledArchive, spoolArchive } from '../../transfer/import/spool-archive.ts'
import { admitLastStage } from '../../transfer/import/structure-permission.ts'
import type { AttemptContext } from './processor.ts'

/** An archive that was received for a job, and found whole. */
export interface ReceivedArchive {
  readonly archive: SpooledArchive
  readonly loading: LoadingProgress
}

/** Imports the upload that was stored with the job. */
export async function runImport(context: AttemptContext, { projects, allowEdited }: ImportRequest): Promise<void> {
  const { container, job } = context
  const input = await findInput(container.control.prisma, job.id)
  if (!input) throw gone('the upload is not there any more')
  context.progress.update({ phase: 'checking' })
  const targets = projects.map(({ targetSlug }) => targetSlug)
  const received = await receiveArchive(context, container.artifacts.read(input.key), { targets, allowEdited })
  await importReceived(context, received, { targets })
}

/**
 * Takes an archive as it comes, and finds it whole; what can be loaded by then is.
 *
 * @param bytes plain or gzip.
 * @param targets slugs, in the order of the archive's projects.
 */
export async function receiveArchive(
  { container, job, signal, progress, sessionName }: AttemptContext,
  bytes: AsyncIterable<Buffer>,
  { targets, allowEdited }: { readonly targets: readonly string[]; readonly allowEdited: boolean },
): Promise<ReceivedArchive> {
  const loading = trackLoading(progress)
  const archive = await spoolArchive(counted(bytes, progress, signal), container.spoolFolder, {
    maxLineBytes: container.config.maxLineBytes,
    maxStructureLineBytes: container.config.maxStructureLineBytes,
    reserveBytes: container.config.spoolReserveBytes,
    allowEdited,
    signal,
    admit: (projects) => admitLastStage(container, job.createdBy, projects, targets),
    ahead: {
      services: container,
      tokenId: job.createdBy,
      targetsOf: () => targets,
      sessionName,
      onRows: loading.onRows,
    },
  })
  return { archive, loading }
}

/**
 * Imports an archive that has been received, and ends the job in the transaction that makes its rows visible.
 *
 * @param targets slugs, in the order of the archive's projects.
 */
export async function importReceived(
  context: AttemptContext,
  { archive, loading }: ReceivedArchive,
  { targets }: { readonly targets: readonly string[] },
): Promise<void> {
  const { container, job, signal, sessionName, authorise, succeed } = context
  try {
    loading.show(totalRows(archive))
    await importArchive(container, archive, {
      targets,
      tokenId: job.createdBy,
      authorise,
      signal,
      sessionName,
      onRows: loading.onRows,
      beforeCommit: (tx, imported) => succeed(tx, { projects: imported, ...toldBeside(archive) }),
    })
  } finally {
    await archive.remove()
  }
}

/** How much has been loaded, which is not shown before everything has been received. */
interface LoadingProgress {
  readonly onRows: (loaded: LoadedPart) => void
  readonly show: (rowsTotal: number) => void
}

function trackLoading(progress: ProgressTracker): LoadingProgress {
  let rows = 0
  let rowsTotal: number | undefined
  return {
    onRows({ stage, table, rows: added }) {
      rows += added
      if (rowsTotal === undefined) return
      if (rows < rowsTotal) progress.update({ rows, stage, table })
      else progress.update({ rows, stage, table: null, phase: 'finishing' })
    },
    show(total) {
      rowsTotal = total
      progress.update({ phase: rows < total ? 'loading' : 'finishing', rows, rowsTotal, stage: null, table: null })
    },
  }
}

const totalRows = ({ projects }: SpooledArchive): number =>
  projects
    .flatMap(({ stages }) => stages)
    .flatMap(({ tables }) => tables)
    .reduce((total, { rows }) => total + rows, 0)

/** What of an archive is told with the result, beside its rows. */
const toldBeside = ({ projects }: SpooledArchive) => {
  const systems = projects.filter(({ system }) => system)
  const sum = (count: (project: PlannedProject) => number): number =>
    systems.reduce((total, project) => total + count(project), 0)
  const system = { roles: sum(({ roles }) => roles.length), events: sum(({ events }) => events) }
  return {
    system: systems.length === 0 ? null : system,
    notExported: projects.flatMap(({ stages }) =>
      stages.flatMap(({ slug, notExported }) => notExported.map((thing) => ({ stage: slug, ...thing }))),
    ),
  }
}

async function* counted(
  bytes: AsyncIterable<Buffer>,
  progress: ProgressTracker,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of bytes) {
    signal.throwIfAborted()
    progress.addBytes(chunk.length)
    yield chunk
  }
}
