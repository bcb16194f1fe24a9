import { compressArchive } from '../../archive/compress-archive.ts'
import { completenessOf } from '../../contract/completeness.ts'
import { nameTransaction } from '../../database/session-name.ts'
import { type ExportRequest, selectionsOf } from '../../jobs/catalogue.ts'
import { assertCanCompress } from '../../jobs/compression.ts'
import { beginArtifact, publishArtifact } from '../../jobs/job-artifacts.ts'
import { findScheduleOf, markProven, recordHeld } from '../../jobs/schedules/schedule-record.ts'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { estimateRows } from '../../transfer/export/estimate-rows.ts'
import type { NotInArchive } from '../../transfer/export/open-export.ts'
import { withExport } from '../../transfer/export/with-export.ts'
import { verifyArtifact } from '../verify-artifact.ts'
import type { AttemptContext } from './processor.ts'

/**
 * Writes an archive into the store. It may be had once the whole of it is there, and never if the attempt is not the
 * job's.
 */
export async function runExport(context: AttemptContext, request: ExportRequest): Promise<void> {
  const { allowIncomplete, jobs, maxBytesPerSecond, compression: coding } = request
  assertCanCompress(coding)
  const projects = selectionsOf(request)
  const { container, job, matched, signal, progress, sessionName, authorise, succeed } = context
  const { control, config } = container
  const estimate = await estimateRows(container, projects)
  progress.update({ phase: 'reading', rowsTotal: estimate > 0 ? estimate : null })
  const artifact = await beginArtifact(container, { kind: 'output', jobId: job.id })
  try {
    const write = async (
      archive: AsyncIterable<BorrowedBytes>,
      notExported: readonly NotInArchive[],
    ): Promise<readonly NotInArchive[]> => {
      for await (const chunk of compressArchive(archive, { ...(coding && { coding }) })) {
        signal.throwIfAborted()
        await artifact.writer.write(chunk.now)
        progress.addBytes(chunk.length)
      }
      return notExported
    }
    const onRows = ({ stage, table, rows }: { stage: string; table: string; rows: number }): void => {
      progress.addRows(rows)
      progress.update({ stage, table })
    }
    const notExported = await withExport(container, projects, write, {
      ...{ sessionName, signal, onRows, allowIncomplete },
      ...(jobs && { jobs }),
      ...(maxBytesPerSecond && { maxBytesPerSecond }),
    })
    const lacking = { complete: notExported.length === 0, notExported }
    const rowsMissing = completenessOf(lacking) === 'rows missing'
    progress.update({ phase: 'finishing', table: null })
    const finished = await artifact.writer.commit()
    const schedule = await findScheduleOf(control.prisma, job)
    if (schedule?.verify) {
      progress.update({ phase: 'checking', stage: null })
      await verifyArtifact(container, { key: artifact.id, finished }, { ...job, sessionName, signal })
    }
    // What a schedule makes stays for as long as that says.
    const days = schedule ? undefined : config.artifactDays
    await control.prisma.$transaction(async (tx) => {
      await nameTransaction(tx, sessionName)
      await authorise(tx)
      await publishArtifact(tx, { id: artifact.id, jobId: job.id, finished }, days ?? null)
      // A restore brings back what the archive has: no proof of what it lacks.
      if (schedule?.verify && !rowsMissing) await markProven(tx, artifact.id)
      if (matched) await recordHeld(tx, job.scheduleId, matched.held)
      const report = matched && { matched: matched.report }
      await succeed(tx, { ...finished, ...lacking, lacksRows: rowsMissing, ...report }, days)
    })
  } catch (error) {
    await artifact.discard()
    throw error
  }
}
