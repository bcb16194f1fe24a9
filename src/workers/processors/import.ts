import type { ArchiveItem } from '../../archive/archive-reader.ts'
import { gone } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { findInput } from '../../jobs/job-artifacts.ts'
import type { ProgressTracker } from '../../jobs/progress.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import { type SpooledArchive, spoolArchive } from '../../transfer/import/spool-archive.ts'
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
    const seen: SeenContent = { system: null, notExported: [] }
    const watched = { ...archive, read: (inner: AbortSignal) => watchRows(archive.read(inner), progress, seen) }
    await importArchive(container, watched, {
      targets,
      tokenId: job.createdBy,
      signal,
      sessionName,
      beforeCommit: (tx, imported) => succeed(tx, { projects: imported, ...seen }),
    })
  } finally {
    await archive.remove()
  }
}

const totalRows = ({ projects }: SpooledArchive): number =>
  projects
    .flatMap(({ stages }) => stages.flatMap(({ tables }) => tables))
    .reduce((total, table) => total + table.rows, 0)

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

/** What of an archive is told with the result, beside its rows. */
interface SeenContent {
  system: { readonly roles: number; readonly events: number } | null
  readonly notExported: { readonly stage: string; readonly kind: string; readonly name: string }[]
}

function note(item: ArchiveItem, seen: SeenContent): void {
  if (item.kind === 'systemEnd') seen.system = { roles: item.content.roles, events: item.content.events }
  if (item.kind === 'stage') {
    const { slug, notExported } = item.content
    seen.notExported.push(...notExported.map((thing) => ({ stage: slug, ...thing })))
  }
}

async function* watchRows(
  items: AsyncIterable<ArchiveItem>,
  progress: ProgressTracker,
  seen: SeenContent,
): AsyncGenerator<ArchiveItem, void, undefined> {
  for await (const item of items) {
    note(item, seen)
    if (item.kind === 'stage') progress.update({ phase: 'loading', stage: item.content.slug })
    if (item.kind === 'rows') progress.update({ table: item.content.table })
    if (item.kind === 'stageEnd') progress.update({ phase: 'finishing', table: null })
    yield item
    if (item.kind === 'row') progress.addRows(item.rows.length)
  }
}
