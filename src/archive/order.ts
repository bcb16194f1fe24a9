import { type LineKind, STRUCTURE_KINDS } from './lines.ts'

export type AnyKind = LineKind | 'row'

/** A position in an archive, named for what came last. */
export type Position =
  | 'start'
  | 'archive'
  | 'project'
  | 'system'
  | 'events'
  | 'stages'
  | 'extensions'
  | 'structure'
  | 'rows'
  | 'parts'
  | 'tables'
  | 'finished'

/** What may stand in a stage before its rows. Extensions come before everything else. */
const IN_STAGE: Partial<Record<AnyKind, Position>> = {
  ...Object.fromEntries(STRUCTURE_KINDS.filter((kind) => kind !== 'extension').map((kind) => [kind, 'structure'])),
  grants: 'structure',
  rows: 'rows',
  stageEnd: 'stages',
}

/** What may follow at each position, and where that leads. A reader and a writer keep to the same table. */
const ORDER: Readonly<Record<Position, Partial<Record<AnyKind, Position>>>> = {
  start: { archive: 'archive' },
  archive: { project: 'project', end: 'finished' },
  project: { system: 'system' },
  system: { role: 'system', event: 'events', systemEnd: 'stages' },
  events: { event: 'events', systemEnd: 'stages' },
  stages: { stage: 'extensions', projectEnd: 'archive' },
  extensions: { extension: 'extensions', ...IN_STAGE },
  structure: IN_STAGE,
  rows: { row: 'rows', rowsEnd: 'tables' },
  parts: { rows: 'rows' },
  tables: { rows: 'rows', stageEnd: 'stages' },
  finished: {},
}

/** @returns where `kind` leads from `position`; undefined where it may not stand. */
export function follow(position: Position, kind: AnyKind): Position | undefined {
  return ORDER[position][kind]
}

/** @returns the kinds that may stand at `position`, for a message. */
export function expectedAt(position: Position): string {
  const kinds = Object.keys(ORDER[position]).map((kind) => `"${kind}"`)
  return kinds.length === 0 ? 'nothing' : kinds.join(' or ')
}

/** Says that a line cannot stand at `position`, and which could. */
export function misplaced(kind: string, position: Position): string {
  // A kind from a file is quoted only where it looks like one: it could be anything.
  const quoted = /^[a-zA-Z]{1,20}$/.test(kind) ? `a line of kind "${kind}"` : 'a line of this kind'
  return `${quoted} cannot stand here; expected ${expectedAt(position)}`
}
