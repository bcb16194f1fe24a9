import {
  type History,
  type Moment,
  type Period,
  possibleFleetingValues,
  possibleValues,
  type Value,
  type Write,
} from '../history.ts'

interface FoundRows {
  readonly since: Moment
  readonly until: Moment
  readonly rows: readonly (readonly [id: string, n: number])[]
}

type PossibleValues = typeof possibleValues

/** Holds what archives, transfers and the project itself had against what the project's writers know. */
export function checkRows(history: History, project: string, final: FoundRows['rows']): readonly string[] {
  return compareObservations(history, project, final, possibleValues)
}

/** The same of a project whose table is UNLOGGED: no crash may leave rows in it, nor any answer. @param crashes in order. */
export function checkFleetingRows(
  history: History,
  project: string,
  final: FoundRows['rows'],
  crashes: readonly Period[],
): readonly string[] {
  return compareObservations(history, project, final, (writes, since, until) =>
    possibleFleetingValues(writes, crashes, since, until),
  )
}

function compareObservations(
  history: History,
  project: string,
  final: FoundRows['rows'],
  possible: PossibleValues,
): readonly string[] {
  const end = Number.POSITIVE_INFINITY
  const last = { what: `project ${project} in the end`, project, since: end, until: end, rows: final }
  return [...history.observations.filter((observation) => observation.project === project), last].flatMap(
    (observation) =>
      compareRows(observation, history.writes.get(project) ?? new Map(), possible).map(
        (wrong) => `${observation.what}: ${wrong}`,
      ),
  )
}

function compareRows(
  { since, until, rows }: FoundRows,
  writes: ReadonlyMap<string, readonly Write[]>,
  possibleOf: PossibleValues,
): readonly string[] {
  const found = new Map(rows)
  const wrong = [...writes].flatMap(([id, ofRow]) => {
    const possible = possibleOf(ofRow, since, until)
    const value: Value = found.get(id) ?? null
    return possible.has(value)
      ? []
      : [`row ${id} is ${value}, and can only be ${[...possible].map(String).join(' or ')}`]
  })
  const strange = [...found.keys()].filter((id) => !writes.has(id)).map((id) => `row ${id} was never written`)
  const doubled = found.size === rows.length ? [] : [`${rows.length - found.size} rows are there twice`]
  return [...wrong, ...strange, ...doubled]
}
