import { gone } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { findInput } from '../../jobs/job-artifacts.ts'
import type { ProgressTracker } from '../../jobs/progress.ts'
import type { PlannedProject, PlannedTable } from '../../transfer/import/archive-plan.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import { type SpooledArchive, spoolArchive } from '../../transfer/import/spool-archive.ts'
import type { ByteRange } from '../../transfer/import/spool-file.ts'
import type { AttemptContext } from './processor.ts'

/** Imports the upload that was stored with the job. */
export async function runImport(context: AttemptContext, { projects, allowEdited }: ImportRequest): Promise<void> {
  const { container, job } = context
  const input = await findInput(container.control.prisma, job.id)
  if (!input) throw gone('the upload is not there any more')
  context.progress.update({ phase: 'checking' })
  const archive = await receiveArchive(context, container.artifacts.read(input.key), { allowEdited })
  await importReceived(context, archive, { targets: projects.map(({ targetSlug }) => targetSlug) })
}

/** Takes an archive as it comes, and finds it whole. @param bytes plain or gzip. */
export function receiveArchive(
  { container: { config, spoolFolder }, signal, progress }: AttemptContext,
  bytes: AsyncIterable<Buffer>,
  { allowEdited }: { readonly allowEdited: boolean },
): Promise<SpooledArchive> {
  return spoolArchive(counted(bytes, progress, signal), spoolFolder, {
    maxLineBytes: config.maxLineBytes,
    allowEdited,
    signal,
    admit: () => undefined,
  })
}

/**
 * Imports an archive that has been received, and ends the job in the transaction that makes its rows visible.
 *
 * @param targets slugs, in the order of the archive's projects.
 */
export async function importReceived(
  context: AttemptContext,
  archive: SpooledArchive,
  { targets }: { readonly targets: readonly string[] },
): Promise<void> {
  const { container, job, signal, progress, sessionName, succeed } = context
  try {
    progress.update({ phase: 'loading', rows: 0, rowsTotal: totalRows(archive) })
    const watched = {
      ...archive,
      read: (range: ByteRange, inner: AbortSignal) => watchRange(archive, range, inner, progress),
    }
    await importArchive(container, watched, {
      targets,
      tokenId: job.createdBy,
      signal,
      sessionName,
      beforeCommit: (tx, imported) => succeed(tx, { projects: imported, ...toldBeside(archive) }),
    })
  } finally {
    await archive.remove()
  }
}

const tablesOf = ({ projects }: SpooledArchive): readonly { readonly stage: string; readonly table: PlannedTable }[] =>
  projects.flatMap(({ stages }) =>
    stages.flatMap(({ slug, tables }) => tables.map((table) => ({ stage: slug, table }))),
  )

const totalRows = (archive: SpooledArchive): number =>
  tablesOf(archive).reduce((total, { table }) => total + table.rows, 0)

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

/** Rows are counted by their share of the table's text: which bytes are a row, only PostgreSQL looks at now. */
async function* watchRange(
  archive: SpooledArchive,
  range: ByteRange,
  signal: AbortSignal,
  progress: ProgressTracker,
): AsyncGenerator<Buffer, void, undefined> {
  const found = tablesOf(archive).find(({ table }) => table.text === range)
  const rowsBefore = progress.current().rows
  if (found) progress.update({ stage: found.stage, table: found.table.name })
  let bytes = 0
  for await (const chunk of archive.read(range, signal)) {
    yield chunk
    bytes += chunk.length
    const share = bytes / (range.end - range.start)
    if (found) progress.update({ rows: rowsBefore + Math.floor(found.table.rows * share) })
  }
  if (progress.current().rows === progress.current().rowsTotal) progress.update({ phase: 'finishing', table: null })
}
