import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { ExportSelection } from '../../contract/export.ts'
import { wrongUse } from '../../errors.ts'
import type { TransferRequest } from '../../jobs/catalogue.ts'
import { fetchArchive } from '../../jobs/fetched-archive.ts'
import { copied } from '../../lib/borrowed-bytes.ts'
import { estimateRows } from '../../transfer/export/estimate-rows.ts'
import type { UseExport } from '../../transfer/export/open-export.ts'
import { withExport } from '../../transfer/export/with-export.ts'
import { readRemoteArchive } from '../../transfer/remote/remote-archive.ts'
import { findSourceArchive } from '../source-archive.ts'
import { withRemote } from '../with-remote.ts'
import { importForJob } from './import.ts'
import type { AttemptContext } from './processor.ts'
import { pushArchive } from './push-archive.ts'

interface Asked extends RowsPolicy {
  readonly selection: Omit<ExportSelection, 'slug'>
  readonly jobs?: number
  readonly maxBytesPerSecond?: number
}

/** Moves a project's rows to another project: on this server, from another one, or to another one. */
export async function runTransfer(context: AttemptContext, request: TransferRequest): Promise<void> {
  const { source, target, system, stages, excludeTables, grants, allowIncomplete, jobs, maxBytesPerSecond } = request
  const selection = {
    system,
    ...(stages && { stages }),
    ...(excludeTables && { excludeTables }),
    ...(grants && { grants }),
  }
  const asked: Asked = {
    ...{ selection, allowIncomplete },
    ...(jobs && { jobs }),
    ...(maxBytesPerSecond && { maxBytesPerSecond }),
  }
  if ('dsn' in source && 'project' in target) return pull(context, request, source.dsn, target.project, asked)
  if ('project' in source && 'dsn' in target) {
    return pushArchive(context, request, {
      dsn: target.dsn,
      withArchive: (use) => withSource(context, source.project, asked, use),
    })
  }
  if ('project' in source && 'project' in target) return move(context, source.project, target.project, asked)
  throw wrongUse('one end of a transfer must be a project of this server')
}

/**
 * The export's stream is the import's: nothing is stored in between but what an import keeps while it checks. The
 * export is over by the time the rows change places, so it holds no lock that the import might wait for.
 */
async function move(context: AttemptContext, slug: string, target: string, asked: Asked): Promise<void> {
  await importForJob(
    context,
    (use) => withSource(context, slug, asked, (archive) => use(copied(archive))),
    toWhole(target, asked),
  )
}

/**
 * The source makes an archive as a job of its own, and this server fetches it in parts that it keeps: neither a lost
 * connection nor the end of a worker makes anything be sent again that has been kept. A source that has nobody, or no room, to
 * do so streams the export; then the next attempt begins anew, since nobody could have the same snapshot again.
 */
async function pull(context: AttemptContext, request: TransferRequest, dsn: string, target: string, asked: Asked) {
  const { container, job, progress, signal } = context
  await withRemote(context, dsn, context.secrets.source, async (server, slug) => {
    const selection = { slug, ...asked.selection }
    const archive = await findSourceArchive(context, server, {
      request,
      selection,
      allowIncomplete: asked.allowIncomplete,
    })
    progress.update({ phase: 'checking', rows: 0, rowsTotal: null })
    if (!archive) {
      const bytes = await server.openExport(selection, asked)
      return importForJob(context, (use) => use(bytes), toWhole(target, asked))
    }
    const { id: jobId, attempt } = job
    const { saveMs } = container.jobTimings
    const bytes = fetchArchive(container, {
      ...{ attempt: job, sha256: archive.sha256, partMs: saveMs },
      readFrom: (offset) => readRemoteArchive(server, archive, offset, signal),
    })
    await importForJob(context, (use) => use(bytes), {
      ...toWhole(target, asked),
      attempt: { jobId, attempt, archive: archive.sha256, saveMs },
    })
  })
}

/** Nobody edits an archive on its way. */
const toWhole = (target: string, { allowIncomplete, jobs }: Pick<Asked, 'allowIncomplete' | 'jobs'>) => ({
  ...{ targets: [target], allowEdited: false, allowIncomplete, jobs },
})

async function withSource<T>(
  { container, progress, sessionName, signal }: AttemptContext,
  slug: string,
  { selection, allowIncomplete, ...reading }: Asked,
  use: UseExport<T>,
): Promise<T> {
  const projects = [{ slug, ...selection }]
  const estimate = await estimateRows(container, projects)
  progress.update({ phase: 'reading', rows: 0, rowsTotal: estimate > 0 ? estimate : null, bytes: 0 })
  return withExport(container, projects, use, {
    sessionName,
    signal,
    allowIncomplete,
    ...reading,
    onRows({ stage, table, rows }) {
      progress.addRows(rows)
      progress.update({ stage, table })
    },
  })
}
