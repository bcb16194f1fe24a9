import { compressArchive } from '../../archive/compress-archive.ts'
import { examineLogin } from '../../database/address/examine-login.ts'
import type { CatalogQuery } from '../../database/address/login-rights.ts'
import type { Database } from '../../database/database.ts'
import { conflict, isAppError, notFound, wrongUse } from '../../errors.ts'
import { copied } from '../../lib/borrowed-bytes.ts'
import { coalesceBorrowed } from '../../lib/coalesce.ts'
import type { Coding } from '../../lib/coding.ts'
import { withDirectExport } from '../../transfer/export/direct-export.ts'
import { estimateRowsIn } from '../../transfer/export/estimate-rows.ts'
import type { SnapshotSource } from '../../transfer/export/locked-source.ts'
import type { ExportOptions, NotInArchive, UseExport } from '../../transfer/export/open-export.ts'
import { usualJobs } from '../../transfer/export/usual-jobs.ts'
import type { CommandContext } from '../environment.ts'
import { readReading, type SelectionOptions, toSelection } from '../export/export-selection.ts'
import type { ArchiveSummary } from '../export/read-through.ts'
import { type Receiving, receiveArchive } from '../export/receive-archive.ts'
import type { DirectAddress } from './direct-address.ts'
import { namingLost, withDirectDatabase } from './direct-database.ts'

/** What a command exports of a database that it is connected to. */
export interface DirectSource {
  readonly stages: readonly string[]
  readonly database: Database
  /** What an archive of them would lack. */
  examine(): Promise<readonly NotInArchive[]>
  /** Writes the archive as it is made, and reads it through meanwhile. */
  download(receiving: Receiving & { readonly coding: Coding | undefined }): Promise<ArchiveSummary>
}

/** What only a server has. @throws {AppError} WRONG_USE */
export function assertNoSystem({ includeSystem }: SelectionOptions): void {
  if (!includeSystem) return
  throw wrongUse('a database that is not Wharf’s has no roles and no event log of Wharf’s: leave --include-system out')
}

/**
 * Connects to a database, and exports what is chosen of it for as long as `use` takes.
 *
 * @throws {AppError} as `withDirectDatabase`, `withDirectExport` and `readReading`; NOT_FOUND for a stage that the address does not give.
 */
export async function withDirectSource<T>(
  context: CommandContext,
  address: DirectAddress,
  options: SelectionOptions,
  use: (source: DirectSource) => Promise<T>,
): Promise<T> {
  const reading = readReading(options)
  const { jobs = usualJobs(reading) } = reading
  const { generator, config } = await writingOf(context)
  const chosen = { ...address, stages: chooseStages(address, options.stage) }
  const selection = { ...toSelection(options), slug: address.project, system: false } as const
  return withDirectDatabase(context, chosen, { forWriting: false, jobs }, (source) => {
    const open = async <R>(use: UseExport<R>, opened: ExportOptions): Promise<R> => {
      try {
        return await namingLost(address.name, () =>
          withDirectExport({ generator, config }, source, selection, use, opened),
        )
      } catch (error) {
        if (!isAppError(error, 'CONFLICT')) throw error
        // Where the login cannot be examined either, what failed first says more.
        throw await withMissingRights(error, address, source).catch(() => error)
      }
    }
    return use({
      stages: source.stages.map(({ slug }) => slug),
      database: source.database,
      examine: () =>
        open(async (_archive, notExported) => notExported, { signal: context.signal, allowIncomplete: true }),
      async download({ coding, ...receiving }) {
        const estimate = await estimateRowsIn(source.database, source.stages)
        receiving.progress.rowsExpected = estimate > 0 ? estimate : undefined
        return open(
          (archive) =>
            receiveArchive(
              copied(coding ? compressArchive(archive, { coding }) : coalesceBorrowed(archive)),
              receiving,
            ),
          {
            signal: receiving.signal,
            allowIncomplete: receiving.allowIncomplete,
            ...reading,
            jobs,
          },
        )
      },
    })
  })
}

async function writingOf({ environment }: CommandContext) {
  return { generator: `wharf/${environment.version}`, config: await environment.loadConfig() }
}

function chooseStages({ name, stages }: DirectAddress, slugs: readonly string[] | undefined): DirectAddress['stages'] {
  if (!slugs) return stages
  const unknown = slugs.find((slug) => !stages.some((stage) => stage.slug === slug))
  if (unknown !== undefined) {
    const given = stages.map(({ slug, schema }) => `${slug} (schema ${schema})`).join(', ')
    throw notFound('stage', unknown, `in ${name}: its address gives ${given}; "?schema=<name>" names others`)
  }
  return stages.filter(({ slug }) => slugs.includes(slug))
}

/** Says which rights the login lacks to read the stages, where that is what keeps them from being exported. */
async function withMissingRights(error: Error, { name }: DirectAddress, source: SnapshotSource): Promise<Error> {
  const { pool } = source.database
  const query: CatalogQuery = async (sql, parameters = []) => (await pool.query(sql, [...parameters])).rows
  const missing: string[] = []
  for (const { schemaName } of source.stages) {
    const report = await examineLogin(query, schemaName)
    if (!report.mayExport) missing.push(...report.missingToExport)
  }
  if (missing.length === 0) return error
  return conflict(
    `the login of ${name} may not read all that is to be exported; what allows it, for the owner to run:`,
    missing.map((detail) => ({ detail })),
  )
}
