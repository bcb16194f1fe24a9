import { setTimeout as delay } from 'node:timers/promises'
import type { HelperSource } from '../export/helper-room.ts'
import { usualLoads } from '../export/usual-jobs.ts'
import { BODIES_UNCHECKED, type FamilyStatements } from '../structure/create-statements.ts'
import type { Query } from '../structure/query.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { bytesOf, type TableFinisher, tablesWithRows } from './finish-tables.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import { keepSchema, openHelpingLoads } from './helping-loads.ts'
import { type CommittingSession, loadTogether, SORT_AS_SET } from './load-together.ts'
import type { LoadedTables } from './loaded-tables.ts'
import type { LoadingSession, SessionOptions } from './loading-session.ts'
import { mayLoadTogether } from './may-load-together.ts'
import type { StageSaves } from './resume/stage-saves.ts'
import type { TargetStage } from './target-stage.ts'

/** So many bytes of rows have to wait: below that, to open sessions and to commit takes longer than they save. */
const MIN_BYTES = 12 * 1024 * 1024

/** How long is waited for as many before the first table, in milliseconds. */
const FIRST_WAIT_MS = 100

/** A stage that one session loads beside its own schema. */
export interface StageToHelp {
  readonly session: LoadingSession
  readonly schemaName: string
  readonly follower: ArchiveFollower
  readonly target: TargetStage
  readonly families: readonly FamilyStatements[]
  /** Tables that the first session loads, by itself. */
  readonly withNames: ReadonlySet<string>
  readonly loaded: LoadedTables
  readonly finisher: TableFinisher
  readonly saves: StageSaves
  /** Commits what the first session has made and loaded, and goes on. */
  readonly save: () => Promise<void>
  /** Ends all sessions that load the stage. */
  readonly giveUp: (reason: HelpedLoadFailed) => void
}

/** Loading side by side failed: what one session alone says of the same archive is what is wrong, and where. */
export class HelpedLoadFailed extends Error {}

const helpedLoadFailed = (cause: unknown): HelpedLoadFailed =>
  new HelpedLoadFailed('tables could not be loaded side by side', { cause })

/**
 * @returns to be called before each table: loads all that is left side by side with other sessions where more of the archive has
 *   come than one session has loaded, once. It throws `HelpedLoadFailed`.
 */
export function helpLoading(
  stage: StageToHelp,
  helpers: HelperSource,
  { jobs = usualLoads(), signal, sessionName }: SessionOptions & { readonly jobs?: number | undefined },
): () => Promise<void> {
  const { session, schemaName, follower, target, withNames, loaded, finisher, saves, save, giveUp } = stage
  const query: Query = (sql, parameters) => session.query(sql, parameters)
  let [isFirst, isDecided] = [true, jobs < 2]
  const waitingBytes = waitingBytesOf(stage)

  /** Those that several sessions can load: each is empty, or was begun and committed. */
  const helped = (): ReadonlySet<FamilyStatements> =>
    new Set(
      [...finisher.left].filter(
        (family) => !family.tables.some(({ name }) => withNames.has(name)) && tablesWithRows(family).length > 0,
      ),
    )

  const isEnough = async (): Promise<boolean> => {
    if (isFirst) {
      isFirst = false
      const end = performance.now() + FIRST_WAIT_MS
      const come = follower.until(() => performance.now() >= end || waitingBytes() >= MIN_BYTES)
      await Promise.race([come, delay(FIRST_WAIT_MS, undefined, { ref: false })])
    }
    return waitingBytes() >= MIN_BYTES
  }

  const load = async (families: ReadonlySet<FamilyStatements>): Promise<void> => {
    const at = { query, schemaName, extensionSchemas: session.extensionSchemas }
    const opened = await openHelpingLoads(helpers, at, Math.min(jobs, families.size) - 1, { signal, sessionName })
    try {
      if (opened.sessions.length === 0) return
      const begin = (each: LoadingSession): Promise<void> =>
        each.executeAll([...keepSchema(schemaName), BODIES_UNCHECKED])
      // Before the first session commits: nobody may take the schema for one that is not used any more.
      await Promise.all(opened.sessions.map(begin))
      await finisher.finishLoaded()
      await save()
      await begin(session)
      const commit = (each: LoadingSession, how: () => Promise<void>): Promise<void> =>
        saves.saveBeside(
          each,
          () => loaded.saved(each),
          async () => {
            await how()
            loaded.committed(each)
          },
        )
      const goOn = (each: LoadingSession) => (): Promise<void> =>
        commit(each, () => each.goOn(() => Promise.resolve())).then(() => begin(each))
      const helping = (each: LoadingSession): CommittingSession => ({
        ...{ session: each, save: goOn(each), end: () => commit(each, each.commit) },
      })
      // What it does afterwards, it does alone.
      const first = { session, save: goOn(session), end: () => session.execute(SORT_AS_SET) }
      const sessions = [first, ...opened.sessions.map(helping)]
      const fail = (error: unknown): void => giveUp(helpedLoadFailed(error))
      await loadTogether({ sessions, follower, target, loaded, finisher, families, giveUp: fail })
    } catch (error) {
      throw helpedLoadFailed(error)
    } finally {
      opened.end()
    }
  }

  return async () => {
    // One table is begun with at once.
    if (isFirst) isDecided ||= helped().size < 2
    if (isDecided) return
    const isWhole = target.archived.isWhole
    const isHelped = await isEnough()
    isDecided = isHelped || isWhole
    if (isHelped && (await mayLoadTogether(query, schemaName))) await load(helped())
  }
}

/** @returns what tells how many bytes of rows have come, and are not loaded. */
function waitingBytesOf({ target, loaded }: Pick<StageToHelp, 'target' | 'loaded'>): () => number {
  const { tables } = target.archived
  const isLoaded = (table: ArchiveTable): boolean => loaded.of(table.name)?.isWhole === true
  /** How many tables have been loaded, one after the other: not looked at again, where there are thousands. */
  let done = 0
  return () => {
    for (let next = tables[done]; next && isLoaded(next); next = tables[done]) done += 1
    return tables.slice(done).reduce((sum, table) => (isLoaded(table) ? sum : sum + bytesOf(table)), 0)
  }
}
