import { z } from 'zod'
import type { History, Replacement } from '../history.ts'

/** An event of a stage's log, in the order of commit. */
export interface LoggedEvent {
  readonly id: string
  /** The place of its transaction in that order. */
  readonly position: number
  readonly kind: string
  readonly tokenId: string | null
  readonly rows: readonly unknown[] | null
}

export const EVENTS_OF = `
  SELECT e.id, t.position::int AS position, e.kind, e.token_id AS "tokenId", to_json(e.rows) AS rows
  FROM system.event e
  JOIN system.transaction t ON t.stage_id = e.stage_id AND t.id = e.transaction_id
  WHERE e.stage_id = $1 ORDER BY t.position, e.ordinal`

/** Every acknowledged write has its event, and no 304 or answer was older than what had been acknowledged before. */
export function checkReferences(history: History, project: string, events: readonly LoggedEvent[]): readonly string[] {
  const positions = new Map(events.map(({ id, position }) => [id, position]))
  const writes = [...(history.writes.get(project)?.values() ?? [])].flat()
  const lost = writes.filter(({ reference }) => reference !== undefined && !positions.has(reference))
  const acknowledged = writes
    .flatMap(({ reference = '', end }) => {
      const position = positions.get(reference)
      return position === undefined ? [] : [{ end, position }]
    })
    .toSorted((a, b) => a.end - b.end)
  const reads = history.reads.filter((read) => read.project === project).toSorted((a, b) => a.begin - b.begin)
  const stale: string[] = []
  let newest = 0
  let next = 0
  for (const { begin, status, sent, got } of reads) {
    for (let write = acknowledged[next]; write && write.end <= begin; write = acknowledged[++next]) {
      newest = Math.max(newest, write.position)
    }
    const answered = status === 304 ? sent : got
    const position = positions.get(answered ?? '')
    if (position === undefined) stale.push(`a ${status} with the reference ${answered}, which is no event`)
    else if (position < newest) stale.push(`a ${status} of position ${position}, where ${newest} was acknowledged`)
  }
  return [...lost.map(({ id, reference }) => `the event ${reference} of row ${id} is not in the log`), ...stale]
}

const rowSchema = z.object({ id: z.string(), n: z.number() })

/** Each replacement of a project that was acknowledged is in its log once, and none that was refused is. */
export function checkReplacements(
  { replacements }: History,
  project: string,
  events: readonly LoggedEvent[],
): readonly string[] {
  const logged = events.filter(({ kind }) => kind === 'import')
  const timesLogged = (tokenId: string): number => logged.filter((event) => event.tokenId === tokenId).length
  return replacements
    .filter((replacement) => replacement.project === project)
    .filter((replacement) => !isRightlyLogged(replacement, timesLogged(replacement.tokenId)))
    .map(({ kind, tokenId, outcome }) => `an ${kind} (${outcome}) is ${timesLogged(tokenId)} times in the log`)
}

/**
 * Plays the log of the project that is imported into, and compares what the stage has in the end with what the log makes
 * of it.
 *
 * @param archives the rows of each archive.
 */
export function checkContents(
  { replacements }: History,
  events: readonly LoggedEvent[],
  archives: readonly (readonly (readonly [string, number])[])[],
  final: readonly (readonly [string, number])[],
): readonly string[] {
  const played = play(events, new Map(replacements.map((each) => [each.tokenId, each])), archives)
  return typeof played === 'string' ? [played] : difference(played, new Map(final))
}

function isRightlyLogged({ outcome }: Replacement, times: number): boolean {
  if (outcome === 'unknown') return times <= 1
  return times === (outcome === 'done' ? 1 : 0)
}

function play(
  events: readonly LoggedEvent[],
  replacements: ReadonlyMap<string, Replacement>,
  archives: readonly (readonly (readonly [string, number])[])[],
): ReadonlyMap<string, number> | string {
  let rows = new Map<string, number>()
  let kept = new Map<string, number>()
  for (const event of events) {
    const changed = (event.rows ?? []).map((row) => rowSchema.parse(row))
    if (event.kind === 'create' || event.kind === 'update') for (const { id, n } of changed) rows.set(id, n)
    if (event.kind === 'delete') for (const { id } of changed) rows.delete(id)
    if (event.kind !== 'import') continue
    const replacement = replacements.get(event.tokenId ?? '')
    if (!replacement) return `an import of nobody's is in the log: ${event.id}`
    const replaced = rows
    rows = replacement.archive === undefined ? kept : new Map(archives[replacement.archive])
    kept = replaced
  }
  return rows
}

function difference(expected: ReadonlyMap<string, number>, found: ReadonlyMap<string, number>): readonly string[] {
  const ids = new Set([...expected.keys(), ...found.keys()])
  const wrong = [...ids].filter((id) => expected.get(id) !== found.get(id))
  const [first] = wrong
  if (first === undefined) return []
  return [
    `${wrong.length} rows are not as the log has them, ${first} for one: ${found.get(first)}, not ${expected.get(first)}`,
  ]
}
