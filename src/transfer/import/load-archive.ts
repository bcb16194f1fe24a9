import type { ArchiveItem } from '../../archive/archive-reader.ts'
import type { Database } from '../../database/database.ts'
import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import { type CreateStatements, createStatements } from '../structure/create-statements.ts'
import { assertBuilt } from './assert-built.ts'
import { type EventLoader, openEventLoader } from './event-loader.ts'
import type { TargetProject, TargetStage } from './import-targets.ts'
import { inPlaceStatements } from './in-place.ts'
import { loadFailure } from './load-failure.ts'
import { createLoadingSchema } from './side-schemas.ts'
import { openStageLoader, type StageLoader } from './stage-loader.ts'

/** A stage whose rows are there, but that nobody sees yet. */
export interface LoadedStage {
  readonly target: TargetStage
  readonly project: TargetProject['project']
  /** The schema beside the stage's own; undefined for one that was loaded in place, and is there already. */
  readonly loadingSchema: string | undefined
  /** Rows by table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** The id of the transaction that loaded it, as `xmin` has it. */
  readonly transaction: string
}

/**
 * Loads an archive, in the order of its lines, into schemas beside the stages', and its event logs beside theirs.
 *
 * @param databases `snapshots` lends a connection for as long as an event log takes.
 * @param items of an archive that was checked before; it is read again from the beginning.
 * @returns each stage, loaded and counted. Those beside are committed but not swapped in.
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check that
 *   the rows break. What was loaded so far is left in schemas that the caller drops.
 */
export async function loadArchive(
  databases: { readonly system: Database; readonly snapshots: Database },
  items: AsyncIterable<ArchiveItem>,
  targets: readonly TargetProject[],
  { tokenId, signal }: { readonly tokenId: string | null; readonly signal: AbortSignal },
): Promise<readonly LoadedStage[]> {
  const loaded: LoadedStage[] = []
  let projectIndex = -1
  let stageIndex = -1
  let load: StageLoad | undefined
  let eventLoader: EventLoader | undefined
  try {
    for await (const item of items) {
      if (item.kind === 'project') {
        projectIndex += 1
        stageIndex = -1
      }
      const project = targets[projectIndex]
      if (item.kind === 'system' && project) eventLoader = await openEventLoader(databases, stageIdsOf(project))
      if (item.kind === 'event') await eventLoader?.add(item.content)
      if (item.kind === 'systemEnd') await eventLoader?.end()
      if (item.kind === 'stage' && project) {
        stageIndex += 1
        const target = project.stages[stageIndex]
        if (!target) throw new Error('the archive has another stage than when it was checked')
        load = await beginStage(databases.system, project, target, signal)
      }
      await load?.take(item)
      if (item.kind === 'stageEnd' && load) {
        loaded.push(await load.finish(tokenId))
        load = undefined
      }
    }
  } catch (error) {
    load?.abandon()
    eventLoader?.abandon()
    throw error
  }
  return loaded
}

const stageIdsOf = ({ stages }: TargetProject): ReadonlyMap<string, string> =>
  new Map(stages.map(({ stage }) => [stage.slug, stage.id]))

interface StageLoad {
  take(item: ArchiveItem): Promise<void>
  finish(tokenId: string | null): Promise<LoadedStage>
  abandon(): void
}

async function beginStage(
  system: Database,
  { project, database }: TargetProject,
  target: TargetStage,
  signal: AbortSignal,
): Promise<StageLoad> {
  const { stage, mode, structure, planned } = target
  const inPlace = mode === 'in place'
  const identity = { stageId: stage.id, schemaName: stage.schemaName, login: project.login }
  const loadingSchema = inPlace ? undefined : await createLoadingSchema(system, identity)
  const loader = await openStageLoader(database.pool, loadingSchema ?? stage.schemaName, signal)
  const rows = new Map<string, number>()
  let table = ''
  const prepare = async (): Promise<CreateStatements> => {
    const statements = inPlace ? await inPlaceStatements(loader, structure) : createStatements(structure)
    await runAll(loader, statements.before)
    return statements
  }

  const { after } = await prepare().catch((error: unknown) => {
    loader.abandon()
    throw error
  })
  return {
    async take(item) {
      if (item.kind === 'rows') {
        table = item.content.table
        loader.beginRows(table, item.content.columns)
      }
      if (item.kind === 'row') await loader.addRows(item)
      if (item.kind === 'rowsEnd') rows.set(table, await loader.endRows())
    },
    async finish(tokenId) {
      for (const { name, rows: expected } of planned.tables) {
        if (rows.get(name) !== expected) throw new Error(`${rows.get(name)} of ${expected} rows of a table were loaded`)
      }
      await runAll(loader, after)
      await runAll(
        loader,
        structure.tables.map(({ name }) => `ANALYZE ${quoteIdentifier(name)}`),
      )
      if (loadingSchema !== undefined) {
        if (target.comment !== undefined) await loader.execute(commentOnSchema(loadingSchema, target.comment))
        await assertBuilt(loader, loadingSchema, structure)
      }
      // Not before: what was loaded is one event, the import's.
      await loader.query('SELECT wharf.log_tables($1)', [loadingSchema ?? stage.schemaName])
      if (inPlace) {
        const token = tokenId === null ? 'NULL' : quoteLiteral(tokenId)
        await loader.execute(`SELECT wharf.record_import(${quoteLiteral(stage.id)}, ${token})`)
      }
      const [id] = await loader.query<{ transaction: string }>(LOW_HALF_OF_TRANSACTION_ID)
      await loader.commit()
      return { target, project, loadingSchema, rows, transaction: id?.transaction ?? '' }
    },
    abandon: () => loader.abandon(),
  }
}

const commentOnSchema = (name: string, comment: string): string =>
  `COMMENT ON SCHEMA ${quoteIdentifier(name)} IS ${quoteLiteral(comment)}`

const LOW_HALF_OF_TRANSACTION_ID =
  'SELECT (pg_catalog.pg_current_xact_id()::text::numeric % 4294967296)::text AS transaction'

async function runAll(loader: StageLoader, statements: readonly string[]): Promise<void> {
  for (const statement of statements) {
    try {
      await loader.execute(statement)
    } catch (error) {
      throw loadFailure(error)
    }
  }
}
