import type { ArchiveCopy, ArchiveStage, ArchiveTable } from './archive-lists.ts'
import { type ArchiveRuns, archiveRuns } from './archive-runs.ts'
import type { Archive } from './receive-archive.ts'

export interface FollowOptions {
  /** Ends all following. Pending reads get an AbortError. */
  readonly signal: AbortSignal
  /** For how long in all, in milliseconds, may be waited for more of the archive; not at all for one that has arrived. */
  readonly maxWaitMs?: number
}

/** Gives what an archive has, as soon as it has it. */
export interface ArchiveFollower extends ArchiveRuns {
  /** The stages that have tables, as soon as all of their structure is known. `project` counts from 0. */
  stages(): AsyncGenerator<{ readonly project: number; readonly stage: ArchiveStage }, void, undefined>
  /** Waits until a condition holds, which more of the archive may change. @returns false where that was all of it. */
  until(condition: () => boolean): Promise<boolean>
  /** The tables of a stage, as their rows begin to come; one without columns when it is whole. */
  tablesOf(stage: ArchiveStage): AsyncGenerator<ArchiveTable, void, undefined>
  /** What each COPY of a table loads, as its rows begin to come. */
  copiesOf(table: ArchiveTable): AsyncGenerator<ArchiveCopy, void, undefined>
}

/** Follows an archive while it arrives. One that has arrived is followed to its end without waiting. */
export function followArchive({ lists, file }: Archive, { signal, maxWaitMs = 0 }: FollowOptions): ArchiveFollower {
  const { projects } = lists
  const slow = new AbortController()
  const stopped = AbortSignal.any([signal, slow.signal])
  let leftMs = maxWaitMs
  /** How many wait, and since when somebody does: those that wait at the same time wait once. */
  let [waiters, since] = [0, 0]

  const more = async (): Promise<void> => {
    const now = performance.now()
    if (waiters === 0) since = now
    waiters += 1
    const timer = setTimeout(() => slow.abort(new Error('the archive arrives too slowly')), leftMs - (now - since))
    try {
      await lists.grown(stopped)
    } finally {
      clearTimeout(timer)
      waiters -= 1
      if (waiters === 0) leftMs -= performance.now() - since
    }
  }

  /** The items of a list, each as soon as it is ready. */
  async function* growing<T>(
    list: readonly T[],
    isWhole: () => boolean,
    isReady: (item: T) => boolean = () => true,
  ): AsyncGenerator<T, void, undefined> {
    for (let next = 0; ; ) {
      const item = list[next]
      if (item === undefined && isWhole()) return
      if (item === undefined || !isReady(item)) {
        await more()
      } else {
        yield item
        next += 1
      }
    }
  }

  return {
    async *stages() {
      for await (const project of growing(projects, () => lists.isWhole)) {
        const isLast = (): boolean => projects.at(-1) === project && !lists.isWhole
        const isReady = ({ tables, isWhole }: ArchiveStage): boolean => tables.length > 0 || isWhole
        for await (const stage of growing(project.stages, () => !isLast(), isReady)) {
          if (stage.tables.length > 0) yield { project: projects.indexOf(project), stage }
        }
      }
    },

    async until(condition) {
      while (!lists.isWhole) {
        if (condition()) return true
        await more()
      }
      return false
    },

    tablesOf: (stage) =>
      growing(
        stage.tables,
        () => stage.isWhole,
        (table) => table.isWhole || table.columns.length > 0,
      ),

    copiesOf: (table) => growing(table.copies, () => table.isWhole),

    ...archiveRuns(file, { more, stopped }),
  }
}
