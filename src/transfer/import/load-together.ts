import type { FamilyStatements } from '../structure/create-statements.ts'
import type { ArchiveTable } from './archive-lists.ts'
import { bytesOf, namesOf, type TableFinisher, tablesWithRows } from './finish-tables.ts'
import type { ArchiveFollower } from './follow-archive.ts'
import { emptyTable, loadTable } from './load-tables.ts'
import type { LoadedTables } from './loaded-tables.ts'
import { type LoadingSession, runAll } from './loading-session.ts'
import type { TargetStage } from './target-stage.ts'

/** A session that loads tables beside others. */
export interface CommittingSession {
  readonly session: LoadingSession
  /** Commits what it has loaded, and goes on. */
  save(): Promise<void>
  /** Called when there is nothing left for it to load: commits, unless it is the session that goes on by itself. */
  end(): Promise<void>
}

export interface TablesToLoadTogether {
  readonly sessions: readonly CommittingSession[]
  readonly follower: ArchiveFollower
  readonly target: TargetStage
  readonly loaded: LoadedTables
  readonly finisher: TableFinisher
  /** The families that are loaded. */
  readonly families: ReadonlySet<FamilyStatements>
  /** Ends the other sessions where one has failed. */
  readonly giveUp: (reason: unknown) => void
}

/** Tables that one session loads and finishes: others would wait for its locks. */
interface Unit {
  readonly family: FamilyStatements
  /** Those that have come, and then each as it comes. */
  tables(): AsyncIterable<ArchiveTable>
}

/** So many bytes of rows are worth a message of their own (as `finish-tables.ts`). */
const MIN_BYTES = 2 * 1024 * 1024

/**
 * Loads families of tables in several sessions, as their rows come: each whole in one session, the largest that has come first,
 * with its keys, its indexes and its statistics.
 *
 * Every table is empty, and committed. Who gets which table makes no difference to what is in it.
 *
 * @throws what the first session says that fails; the others have ended then.
 */
export async function loadTogether(work: TablesToLoadTogether): Promise<void> {
  const { sessions, giveUp } = work
  const units = comingUnits(work)
  let failure: { readonly error: unknown } | undefined
  const fail = (error: unknown): void => {
    if (failure) return
    failure = { error }
    units.stop()
    giveUp(error)
  }
  void units.follow().catch(fail)
  const loadAndEnd = async (each: CommittingSession): Promise<void> => {
    await loadUnits(work, each, units)
    if (!failure) await each.end()
  }
  await Promise.all(sessions.map((each) => loadAndEnd(each).catch(fail)))
  if (failure) throw failure.error
}

/** While other sessions keep the server's processors busy, several processes for one index take more of their time, and gain none. */
const SORT_ALONE = 'SET LOCAL max_parallel_maintenance_workers = 0'
export const SORT_AS_SET = 'SET LOCAL max_parallel_maintenance_workers TO DEFAULT'

interface ComingUnits {
  /** Looks for units until the last one has come. */
  follow(): Promise<void>
  /** The next unit for a session; undefined where there is none any more. @param previous what it has loaded. */
  next(previous?: Unit): Promise<Unit | undefined>
  /** Whether no more than one session has anything to do. */
  readonly isLast: boolean
  /** Whether one is there. */
  readonly isWaiting: boolean
  /** Gives out no more. */
  stop(): void
}

/** A family, as its tables come. */
interface ComingFamily {
  readonly family: FamilyStatements
  readonly tables: ArchiveTable[]
}

function comingUnits({ follower, target, families, loaded }: TablesToLoadTogether): ComingUnits {
  const familyOf = new Map(
    [...families].flatMap((family) => {
      const coming: ComingFamily = { family, tables: [] }
      return namesOf(family.tables).map((name) => [name, coming] as const)
    }),
  )
  /** Those that have begun to come, and that no session has. */
  const waiting = new Set<ComingFamily>()
  let loading = 0
  let isOver = false
  let wakers: (() => void)[] = []

  const wake = (): void => {
    const woken = wakers
    wakers = []
    for (const waker of woken) waker()
  }
  const woken = (): Promise<void> => new Promise((resolve) => wakers.push(resolve))
  const end = (): void => {
    isOver = true
    wake()
  }

  const isWhole = ({ family, tables }: ComingFamily): boolean => tables.length === tablesWithRows(family).length
  const sizeOf = ({ tables }: ComingFamily): number => tables.reduce((sum, table) => sum + bytesOf(table), 0)

  /** The largest; one of which tables are still to come only where there is no other: who has it waits for them. */
  const choose = (): ComingFamily | undefined => {
    const whole = [...waiting].filter(isWhole)
    const [chosen] = (whole.length > 0 ? whole : [...waiting]).sort((one, other) => sizeOf(other) - sizeOf(one))
    return chosen
  }

  async function* tablesOf(coming: ComingFamily): AsyncGenerator<ArchiveTable, void, undefined> {
    for (let next = 0; ; next += 1) {
      while (next === coming.tables.length && !isWhole(coming) && !isOver) await woken()
      const table = coming.tables[next]
      if (!table) return
      if (!loaded.of(table.name)?.isWhole) yield table
    }
  }

  return {
    get isWaiting() {
      return waiting.size > 0
    },
    async follow() {
      for await (const table of follower.tablesOf(target.archived)) {
        if (isOver) return
        const coming = familyOf.get(table.name)
        if (!coming) continue
        if (coming.tables.length === 0) waiting.add(coming)
        coming.tables.push(table)
        wake()
      }
      end()
    },
    get isLast() {
      return isOver && waiting.size === 0 && loading < 2
    },
    async next(previous) {
      if (previous) loading -= 1
      while (waiting.size === 0 && !isOver) await woken()
      const chosen = choose()
      if (!chosen) return undefined
      waiting.delete(chosen)
      loading += 1
      return { family: chosen.family, tables: () => tablesOf(chosen) }
    },
    stop() {
      waiting.clear()
      end()
    },
  }
}

/** What one session does. */
async function loadUnits(
  { follower, loaded, finisher }: TablesToLoadTogether,
  { session, save }: CommittingSession,
  units: ComingUnits,
): Promise<void> {
  let statements: string[] = []
  let finishing: string[] = []
  let bytes = 0
  const run = async (more: readonly string[] = []): Promise<void> => {
    const sort = statements.length === 0 ? [] : [units.isLast ? SORT_AS_SET : SORT_ALONE]
    const [all, names] = [[...sort, ...statements, ...more], finishing]
    statements = []
    finishing = []
    bytes = 0
    if (all.length > 0) await runAll(session, all)
    loaded.noteFinished(session, names)
  }
  for (let unit = await units.next(); unit; unit = await units.next(unit)) {
    for await (const table of unit.tables()) {
      // In one message with what finishes the tables before.
      await run(loaded.of(table.name) ? [] : [emptyTable(table)])
      const isDue = (): boolean => loaded.isDue(session)
      await loadTable(session, table, { follower, loaded, isEmptied: true, isDue, save })
      bytes += bytesOf(table)
    }
    if (finisher.left.has(unit.family)) {
      statements.push(...finisher.give(unit.family))
      finishing.push(...namesOf(unit.family.tables))
    }
    const isDue = loaded.isDue(session)
    if (bytes >= MIN_BYTES || !units.isWaiting || isDue) await run()
    if (isDue) await save()
  }
  // Another session may have taken the unit that was waiting.
  await run()
}
