import type { Outcome } from './client.ts'

/** Milliseconds on the clock of the program. */
export type Moment = number

export interface Period {
  readonly begin: Moment
  readonly end: Moment
}

/** Something that was asked for over HTTP, and what the client learned of it. */
interface Asked extends Period {
  readonly outcome: Outcome
}

/** What a row's number is to be; null for no row. */
export type Value = number | null

/** A write of one row, by the only writer of that row. */
export interface Write extends Asked {
  readonly id: string
  readonly value: Value
  /** An insert of a row, or a change of one that may not be there. */
  readonly kind: 'insert' | 'change'
  /** The event that it caused, where it was answered and there was something to change. */
  readonly reference: string | undefined
}

/** An import into a project, its undo, or a transfer to it; it has a token of its own. */
export interface Replacement extends Asked {
  readonly kind: 'import' | 'undo' | 'transfer'
  readonly project: string
  readonly tokenId: string
  /** Which archive was imported. */
  readonly archive?: number
}

/** A conditional read. */
export interface Read {
  readonly begin: Moment
  readonly project: string
  readonly status: 200 | 304
  /** The reference that was sent with it. */
  readonly sent: string | undefined
  /** The reference of the answer. */
  readonly got: string | undefined
}

/** Rows of a project as somebody found them: in an archive, in an answer, or in the project that they were transferred to. */
export interface Observation {
  /** For people. */
  readonly what: string
  /** Of the project that the rows were written to. */
  readonly project: string
  /** When they were asked for, and when they had come. */
  readonly since: Moment
  readonly until: Moment
  readonly rows: readonly (readonly [id: string, n: number])[]
}

/** What clients did, and what they were told. */
export interface History {
  /** Of each row, by project and id, in order. */
  readonly writes: Map<string, Map<string, Write[]>>
  readonly replacements: Replacement[]
  readonly reads: Read[]
  readonly observations: Observation[]
  readonly violations: string[]
  /** How often what was done, for people. */
  readonly counts: Map<string, number>
}

export const createHistory = (): History => ({
  writes: new Map(),
  replacements: [],
  reads: [],
  observations: [],
  violations: [],
  counts: new Map(),
})

export function count(history: History, what: string): void {
  history.counts.set(what, (history.counts.get(what) ?? 0) + 1)
}

export function addWrite({ writes }: History, project: string, write: Write): void {
  const rows = writes.get(project) ?? new Map<string, Write[]>()
  writes.set(project, rows)
  rows.set(write.id, [...(rows.get(write.id) ?? []), write])
}

/**
 * What a row may have been at some moment between two others, as far as its writer can tell.
 *
 * @param writes of this row, in order: a row is not written again once nobody knows what became of a write.
 */
export function possibleValues(writes: readonly Write[], since: Moment, until: Moment): ReadonlySet<Value> {
  let possible = new Set<Value>([null])
  for (const write of writes) {
    if (write.begin > until || write.outcome === 'refused') continue
    const after = new Set([...possible].map((value) => (isNothingToChange(write, value) ? value : write.value)))
    const isCertain = write.outcome === 'done' && write.end <= since
    possible = isCertain ? after : new Set([...possible, ...after])
  }
  return possible
}

/**
 * The same of a row that each crash of PostgreSQL takes away, since its table is UNLOGGED.
 *
 * @param crashes in order.
 */
export function possibleFleetingValues(
  writes: readonly Write[],
  crashes: readonly Period[],
  since: Moment,
  until: Moment,
): ReadonlySet<Value> {
  const last = crashes.findLast(({ end }) => end <= since)
  // A client without an answer does not know either whether the crash came before the write.
  const isOfBefore = ({ end, outcome }: Write): boolean => last !== undefined && end <= last.begin && outcome === 'done'
  const left = writes
    .filter((write) => !isOfBefore(write))
    .map(
      (write): Write =>
        last && write.begin < last.end && write.outcome === 'done' ? { ...write, outcome: 'unknown' } : write,
    )
  const possible = possibleValues(left, since, until)
  return crashes.some(({ begin, end }) => begin <= until && end > since) ? new Set([...possible, null]) : possible
}

const isNothingToChange = ({ kind, reference, outcome }: Write, value: Value): boolean =>
  kind === 'change' && (value === null || (outcome === 'done' && reference === undefined))
