import type { ExportSelection } from '../../contract/export.ts'
import { nameTransaction } from '../../database/session-name.ts'
import { wrongUse } from '../../errors.ts'
import type { TransferRequest } from '../../jobs/catalogue.ts'
import { gzipMembers } from '../../lib/gzip-members.ts'
import { tap } from '../../lib/tap.ts'
import { estimateRows } from '../../transfer/export/export-selection.ts'
import { withExport } from '../../transfer/export/with-export.ts'
import type { RemoteServer } from '../../transfer/remote/remote-server.ts'
import { parseProjectTarget } from '../../transfer/remote/target.ts'
import { importForJob } from './import.ts'
import type { AttemptContext } from './processor.ts'

type Selection = Omit<ExportSelection, 'slug'>

/** Moves a project's rows to another project: on this server, from another one, or to another one. */
export async function runTransfer(context: AttemptContext, request: TransferRequest): Promise<void> {
  const { source, target, system, stages, excludeTables } = request
  const selection: Selection = { system, ...(stages && { stages }), ...(excludeTables && { excludeTables }) }
  if ('dsn' in source && 'project' in target) return pull(context, source.dsn, target.project, selection)
  if ('project' in source && 'dsn' in target) return push(context, source.project, target.dsn, selection)
  if ('project' in source && 'project' in target) return move(context, source.project, target.project, selection)
  throw wrongUse('one end of a transfer must be a project of this server')
}

/**
 * The export's stream is the import's: nothing is stored in between but what an import keeps while it checks. The
 * export is over by the time the rows change places, so it holds no lock that the import might wait for.
 */
async function move(context: AttemptContext, slug: string, target: string, selection: Selection): Promise<void> {
  await importForJob(context, (use) => withSource(context, slug, selection, use), toWhole(target))
}

async function pull(context: AttemptContext, dsn: string, target: string, selection: Selection): Promise<void> {
  await withRemote(context, dsn, context.secrets.source, async (server, slug) => {
    context.progress.update({ phase: 'checking' })
    const bytes = await server.openExport({ slug, ...selection })
    await importForJob(context, (use) => use(bytes), toWhole(target))
  })
}

/** Nobody edits an archive on its way. */
const toWhole = (target: string) => ({ targets: [target], allowEdited: false })

/** What the other server has committed is there, whatever comes then: run again, it is replaced by the same. */
async function push(context: AttemptContext, slug: string, dsn: string, selection: Selection): Promise<void> {
  const { container, progress, sessionName, authorise, succeed } = context
  await withRemote(context, dsn, context.secrets.target, async (server, targetSlug) => {
    const projects = await withSource(context, slug, selection, (archive) =>
      server.sendArchive(
        tap(gzipMembers(archive), ({ length }) => progress.addBytes(length)),
        targetSlug,
      ),
    )
    await container.control.prisma.$transaction(async (tx) => {
      await nameTransaction(tx, sessionName)
      await authorise(tx)
      await succeed(tx, { projects })
    })
  })
}

async function withSource<T>(
  { container, progress, sessionName }: AttemptContext,
  slug: string,
  selection: Selection,
  use: (archive: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T> {
  const projects = [{ slug, ...selection }]
  const estimate = await estimateRows(container, projects)
  progress.update({ phase: 'reading', rowsTotal: estimate > 0 ? Math.round(estimate) : null })
  return withExport(container, projects, use, {
    sessionName,
    onRows({ stage, table, rows }) {
      progress.addRows(rows)
      progress.update({ stage, table })
    },
  })
}

async function withRemote<T>(
  { container, signal }: AttemptContext,
  dsn: string,
  token: string | undefined,
  use: (server: RemoteServer, slug: string) => Promise<T>,
): Promise<T> {
  const target = parseProjectTarget(dsn)
  if (target.kind === 'local' || target.project === undefined) throw wrongUse('the DSN names no project')
  if (token === undefined) throw wrongUse('the DSN has no token')
  const { transferHosts } = container.config
  // Its HTTP client takes some MB of memory, which a process that reaches no other server need not pay.
  const { connectRemoteServer } = await import('../../transfer/remote/remote-server.ts')
  const server = connectRemoteServer({ origin: target.origin, token, allowed: transferHosts, signal })
  try {
    return await use(server, target.project)
  } finally {
    await server.close()
  }
}
