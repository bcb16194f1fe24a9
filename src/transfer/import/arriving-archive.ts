import { EventEmitter, once } from 'node:events'
import type { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import type { PlannedPart, PlannedProject, PlannedStage, PlannedTable } from './archive-plan.ts'
import type { ByteRange, SpoolFile } from './spool-file.ts'

/** An archive whose rows are no longer than this is taken to come in a single piece. */
const SINGLE_PIECE_BYTES = 512 * 1024

/** An archive that is being spooled, for somebody who follows behind. */
export interface ArrivingArchive {
  /** Says that there is more of it. */
  moreCame(): void
  /** Says that nothing more comes. */
  allCame(): void
  /** Ends all following. Whoever waits gets the reason thrown. */
  stop(reason: Error): void
  readonly stopped: AbortSignal
  /** Waits until some rows have come. @returns false where that was all: loading it ahead is not worth it. */
  comesInPieces(): Promise<boolean>
  /** The stages that have tables, as soon as all of their structure is known. `project` counts from 0. */
  stages(): AsyncGenerator<{ readonly project: number; readonly planned: PlannedStage }, void, undefined>
  /** The tables of a stage, as their rows begin to come; one without columns when it is whole. */
  tablesOf(stage: PlannedStage): AsyncGenerator<PlannedTable, void, undefined>
  /** The parts of a table, as their rows begin to come. */
  partsOf(table: PlannedTable): AsyncGenerator<PlannedPart, void, undefined>
  /** The rows of a part, to its end. */
  bytesOf(table: PlannedTable, part: PlannedPart): AsyncIterable<BorrowedBytes>
}

/**
 * @param projects what is known of the archive; grows.
 * @param file what it is spooled into.
 * @param patienceMs for how long in all, in milliseconds, may be waited for more: then following stops.
 */
export function followArchive(
  { projects, file }: { readonly projects: readonly PlannedProject[]; readonly file: SpoolFile },
  patienceMs: number,
): ArrivingArchive {
  const stopping = new AbortController()
  const arrival = new EventEmitter()
  let hasAllCome = false
  let patienceLeftMs = patienceMs

  const more = async (): Promise<void> => {
    const since = performance.now()
    const lost = setTimeout(() => stopping.abort(new Error('the archive arrives too slowly')), patienceLeftMs)
    try {
      await once(arrival, 'more', { signal: stopping.signal })
    } finally {
      clearTimeout(lost)
      patienceLeftMs -= performance.now() - since
    }
  }

  async function* rangesOf(table: PlannedTable, part: PlannedPart): AsyncGenerator<ByteRange, void, undefined> {
    for (let { start } = part.range; ; ) {
      const { end } = part.range
      const isWhole = table.isWhole || table.parts.at(-1) !== part
      if (start < end) {
        yield { start, end }
        start = end
      } else if (isWhole) {
        return
      } else {
        await more()
      }
    }
  }

  return {
    moreCame: () => void arrival.emit('more'),
    allCame() {
      hasAllCome = true
      arrival.emit('more')
    },
    stop: (reason) => stopping.abort(reason),
    stopped: stopping.signal,

    async comesInPieces() {
      while (file.size < SINGLE_PIECE_BYTES && !hasAllCome) await more()
      return !hasAllCome
    },

    async *stages() {
      for (let project = 0, stage = 0; ; ) {
        const planned = projects[project]?.stages[stage]
        if (planned && planned.tables.length > 0) {
          yield { project, planned }
          stage += 1
        } else if (planned?.isWhole) {
          stage += 1
        } else if (projects[project + 1]) {
          project += 1
          stage = 0
        } else if (hasAllCome) {
          return
        } else {
          await more()
        }
      }
    },

    tablesOf: (stage) =>
      growing(stage.tables, {
        more,
        isWhole: () => stage.isWhole,
        isReady: (table) => table.isWhole || table.columns.length > 0,
      }),

    partsOf: (table) => growing(table.parts, { more, isWhole: () => table.isWhole, isReady: () => true }),

    bytesOf: (table, part) => file.read(rangesOf(table, part), stopping.signal),
  }
}

interface Growth<T> {
  /** Waits until something has changed. */
  readonly more: () => Promise<void>
  readonly isWhole: () => boolean
  readonly isReady: (item: T) => boolean
}

/** The items of a list to which more are added until it is whole, each as soon as it is ready. */
async function* growing<T>(
  list: readonly T[],
  { more, isWhole, isReady }: Growth<T>,
): AsyncGenerator<T, void, undefined> {
  for (let next = 0; ; ) {
    const item = list[next]
    if (item !== undefined && isReady(item)) {
      yield item
      next += 1
    } else if (item === undefined && isWhole()) {
      return
    } else {
      await more()
    }
  }
}
