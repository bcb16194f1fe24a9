import { logLoaded } from '../../events/attached/log-import.ts'
import { LOG_TABLES, RECORD_IMPORT } from '../../events/statements.ts'
import { assertNoForeignOperators } from '../../projects/attached/extension-schemas.ts'
import { searchStage } from '../../projects/stage-path.ts'
import type { HelperSource } from '../export/helper-room.ts'
import { assertBuilt } from '../structure/assert-built.ts'
import { BODIES_UNCHECKED, createStatements, settleStatements } from '../structure/create-statements.ts'
import { fillViews } from '../structure/fill-views.ts'
import { type TableLine, tablesIn } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { analyzeStatements, readAnalyzeSettings } from './analyze.ts'
import { borrowTypes, type TypesInUse } from './external/keep-types.ts'
import { finishTables } from './finish-tables.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import { helpLoading } from './help-loading.ts'
import type { ImportOptions } from './import-options.ts'
import { inPlaceStatements } from './in-place.ts'
import { loadFailure } from './load-failure.ts'
import { tableLoads } from './load-tables.ts'
import { type LoadedTables, loadedTables } from './loaded-tables.ts'
import { type LoadingSession, openLoadingSession, runAll, type SessionOptions } from './loading-session.ts'
import type { Loaded } from './resume/is-only-ours.ts'
import type { SavedLoad } from './resume/saved-load.ts'
import type { StageSaves } from './resume/stage-saves.ts'
import { rightsAfter, rightsBefore } from './stage-rights.ts'
import { tablesWithNames } from './tables-with-names.ts'
import type { TargetStage } from './target-stage.ts'

/** A stage whose rows are there, but that nobody sees yet. */
export interface LoadedStage {
  readonly target: TargetStage
  /** The schema beside the stage's own; undefined for one that was loaded in place. */
  readonly schemaName: string | undefined
  /** By table, as PostgreSQL counted them. */
  readonly rows: ReadonlyMap<string, number>
  /** The ids of the transactions that loaded them, as `xmin` has them. */
  readonly transactions: readonly string[]
  /** In which they were loaded; undefined for what an earlier attempt has loaded and committed. */
  readonly session?: LoadingSession
  commit(): Promise<void>
  /** Gives up what has not been committed. */
  rollback(): void
}

export interface LoadStageOptions extends Pick<ImportOptions, 'jobs' | 'tokenId' | 'onRows' | keyof SessionOptions> {
  /** An empty schema beside the stage's own; undefined to load in place. */
  readonly schemaName: string | undefined
  /** One in which other stages of the database were loaded, and nothing is committed; another one is opened without. */
  readonly session?: LoadingSession | undefined
  /** Commits what was loaded, now and then, and knows what is loaded already; of a schema beside the stage's own. */
  readonly saves?: StageSaves | undefined
  /** Where sessions come from that load beside the first one, which there have to be `saves` for; one session loads all without. */
  readonly helpers?: HelperSource | undefined
}

/**
 * Builds and fills a stage in a transaction of the project's own login, which is left open; or in several, the last of which is.
 *
 * @throws {AppError} ARCHIVE_INVALID for a value that a column refuses; CONFLICT for a key, a foreign key or a check
 *   that the rows break, or where what was built is not what was to be.
 */
export async function loadStage(
  follower: ArchiveFollower,
  target: TargetStage,
  { schemaName, session: earlier, saves, helpers, jobs, tokenId, onRows, ...sessionOptions }: LoadStageOptions,
): Promise<LoadedStage> {
  const { stage, mode, structure, rights, login, isOwn } = target
  if (saves?.found?.whole) return toLoaded(target, schemaName, saves.found, onRows)
  const givingUp = new AbortController()
  const signal = AbortSignal.any([sessionOptions.signal, givingUp.signal])
  const searched = schemaName ?? stage.schemaName
  await earlier?.execute(searchStage(searched, target.extensionSchemas))
  const session = earlier ?? (await openLoadingSession(target, searched, { ...sessionOptions, signal }))
  let types: TypesInUse | undefined
  try {
    const inPlace = schemaName === undefined
    if (!inPlace) types = await borrowTypes(session, target, schemaName, (reason) => givingUp.abort(reason))
    const statements = types ? createStatements(types.lines) : await inPlaceStatements(session, structure)
    if (saves?.found) {
      await session.execute(BODIES_UNCHECKED)
    } else {
      if (!inPlace) await runAll(session, rightsBefore(rights, login, schemaName))
      await runAll(session, statements.before)
    }
    const query: Query = (sql, parameters) => session.query(sql, parameters)
    // One that came since the database was looked at may be what was made here calls for each row.
    if (!isOwn) await assertNoForeignOperators((sql) => query(sql, []))
    const settings = await readAnalyzeSettings(query)
    const analyze = (list: readonly TableLine[]): readonly string[] =>
      analyzeStatements(settings, { tables: list, rows: loaded.rows, inPlace })
    const { families } = statements
    const loaded = loadedTables(target, saves, onRows)
    const finisher = finishTables({ session, families, analyze, loaded })
    const save = async (): Promise<void> => {
      await saves?.save(session, loaded.saved(session))
      loaded.committed(session)
      await session.execute(BODIES_UNCHECKED)
    }
    // In place, whatever values name is there.
    const withNames: ReadonlySet<string> = inPlace ? new Set() : await tablesWithNames(query, schemaName)
    const giveUp = (reason: Error): void => givingUp.abort(reason)
    const state = { session, follower, target, loaded, finisher, withNames, saves, save, giveUp }
    const onTable =
      helpers && saves && !inPlace
        ? helpLoading({ ...state, schemaName, families, saves }, helpers, { jobs, ...sessionOptions, signal })
        : async (): Promise<void> => undefined
    const tables = tableLoads({ ...state, onTable, onLoaded: finisher.onLoaded })
    await tables.loadAll(withNames)
    await finisher.finishAll()
    if (saves?.isBegun) await saves.assertUntouched(session, rowsInReach(session, tablesIn(structure), loaded))
    await runAll(session, statements.after)
    // Before what acts on them, or reads them: triggers, materialized views, checks and foreign keys.
    await tables.loadPutOff()
    await runAll(session, statements.acting)
    await fillViews(session, statements.filled).catch((error: unknown) => {
      throw loadFailure(error)
    })
    const notAnalyzed = tablesIn(structure).filter((table) => !finisher.analyzed.has(table))
    await runAll(session, [...statements.last, ...analyze(notAnalyzed)])
    if (!inPlace) {
      await assertBuilt(session, schemaName, { lines: structure, isOwn: mode === 'swap' })
      await runAll(session, settleStatements(structure, stage.schemaName))
      await runAll(session, await rightsAfter(query, rights, login, schemaName))
      await types?.giveBack()
    }
    // Only now: the rows that were loaded are one event, the import's.
    if (isOwn) await session.query(LOG_TABLES, [schemaName ?? stage.schemaName])
    else if (!inPlace) await logLoaded(query, stage.schemaName, schemaName)
    const ids = await session.query<{ id: string }>(TRANSACTION_IDS, [schemaName ?? null])
    if (inPlace && isOwn) await session.query(RECORD_IMPORT, [stage.id, tokenId])
    const transactions = [...new Set([...ids.map(({ id }) => id), ...(saves?.ids ?? [])])]
    const { rollback } = session
    const commit = async (): Promise<void> => {
      const whole = { rows: [...loaded.rows], transactions }
      if (saves?.isBegun) await saves.noteWhole(session, { ...loaded.saved(session), whole })
      await session.commit()
    }
    return { target, schemaName, rows: loaded.rows, transactions, session, commit, rollback }
  } catch (error) {
    session.rollback()
    throw givingUp.signal.aborted ? givingUp.signal.reason : error
  } finally {
    types?.end()
  }
}

/** How many rows each table has by now, but for those that the transaction has loaded whole: these, it has locked. */
const rowsInReach = (session: LoadingSession, tables: readonly TableLine[], loaded: LoadedTables): Loaded['tables'] =>
  tables.flatMap(({ name }) => (loaded.isHeld(session, name) ? [] : [{ name, rows: loaded.of(name)?.rows ?? 0 }]))

/** @returns the session in which a stage was loaded. @throws where an earlier attempt has, which is none of another database. */
export function sessionOf({ session }: LoadedStage): LoadingSession {
  if (!session) throw new Error('the stage was not loaded in a session of this attempt')
  return session
}

/** A stage that an earlier attempt has loaded, built and committed. */
function toLoaded(
  target: TargetStage,
  schemaName: string | undefined,
  { tables, whole }: SavedLoad,
  onRows: ImportOptions['onRows'],
): LoadedStage {
  const { rows = [], transactions = [] } = whole ?? {}
  onRows?.({
    ...{ project: target.project.slug, stage: target.stage.slug, table: tables.at(-1)?.name ?? '' },
    rows: rows.reduce((sum, [, count]) => sum + count, 0),
    ...{ parts: 0, partsBefore: tables.reduce((sum, { parts }) => sum + parts, 0) },
  })
  const nothingToDo = { commit: async () => undefined, rollback: () => undefined }
  return { target, schemaName, rows: new Map(rows), transactions, ...nothingToDo }
}

/** The ids by which what was made here is known: its own, and those of its subtransactions, in which tables and views were filled. */
const TRANSACTION_IDS = `
  SELECT (pg_catalog.pg_current_xact_id()::text::numeric % 4294967296::numeric)::text AS id
   UNION
  SELECT c.xmin::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::pg_catalog.name`
