import { quoteIdentifier } from '../../../database/quoting.ts'
import {
  type Grant,
  type GrantedKind,
  type Grantee,
  keyOf,
  type ObjectGrants,
  rightsByItself,
  sameGrants,
} from './grants.ts'
import type { TargetOfGrants } from './read-grants.ts'

/** How many objects one statement names at most. */
const MAX_OBJECTS = 500

/**
 * The statements by which the owner of all objects gives exactly the wanted rights on each, and takes all others. An
 * object that has no rights among those wanted gets what PostgreSQL gives by itself.
 *
 * @param owner the login that owns them. @param current all objects that there are, with their rights now.
 */
export function grantStatements(
  owner: string,
  current: readonly TargetOfGrants[],
  wanted: readonly ObjectGrants[],
): readonly string[] {
  const wantedOf = new Map(wanted.map((object) => [keyOf(object), object.grants]))
  const known = new Set(current.map(keyOf))
  const targets = new Map(current.filter(({ column }) => column === undefined).map((each) => [each.name, each.target]))
  const changed: Change[] = current
    .map((now) => ({ ...now, wanted: wantedOf.get(keyOf(now)) ?? rightsByItself(now) }))
    .filter((change) => change.column === undefined && !sameGrants(change.grants, change.wanted))
  // Whatever is taken on a table is taken on its columns, too: they come after it, and have none then.
  const taken = new Set(changed.filter(({ object }) => object === 'table').map(({ name }) => name))
  const columns: Change[] = [
    ...current.filter(({ column }) => column !== undefined),
    ...wanted
      .filter((object) => object.column !== undefined && !known.has(keyOf(object)))
      .flatMap((object) => {
        const target = targets.get(object.name)
        return target === undefined ? [] : [{ ...object, target, grants: [] }]
      }),
  ].map((now) => ({
    ...now,
    grants: taken.has(now.name) ? [] : now.grants,
    wanted: wantedOf.get(keyOf(now)) ?? [],
  }))
  const groups = [
    ...groupAlike(changed),
    ...columns.filter((change) => !sameGrants(change.grants, change.wanted)).map((change) => [change]),
  ]
  return groups.flatMap((changes) => changeStatements(owner, changes))
}

interface Change extends TargetOfGrants {
  readonly wanted: readonly Grant[]
}

/** Objects of which the same is said stand in one statement. */
function groupAlike(changes: readonly Change[]): readonly (readonly Change[])[] {
  const groups = new Map<string, Change[][]>()
  for (const change of changes) {
    const key = JSON.stringify([change.object, change.grants, change.wanted])
    const lists = groups.get(key) ?? []
    const last = lists.at(-1)
    if (last && last.length < MAX_OBJECTS) last.push(change)
    else lists.push([change])
    groups.set(key, lists)
  }
  return [...groups.values()].flat()
}

/** What `GRANT` calls a kind. */
const NOUNS: Partial<Record<GrantedKind, string>> = {
  schema: 'SCHEMA',
  table: 'TABLE',
  sequence: 'SEQUENCE',
  function: 'ROUTINE',
  type: 'TYPE',
}

function changeStatements(owner: string, changes: readonly Change[]): readonly string[] {
  const [first] = changes
  if (!first) return []
  const { object, column, grants, wanted } = first
  const on = `ON ${NOUNS[object]} ${changes.map(({ target }) => target).join(', ')}`
  const ofColumn = column === undefined ? '' : ` (${quoteIdentifier(column)})`
  const grantees = grants.map(({ to }) => toSql(owner, to))
  const from = column === undefined ? [...new Set([...grantees, toSql(owner, 'owner')])] : grantees
  return [
    ...(from.length === 0 ? [] : [`REVOKE ALL${ofColumn} ${on} FROM ${from.join(', ')}`]),
    ...withOwner(object, column, wanted).flatMap((grant) =>
      grant === 'owner' ? [`GRANT ALL ${on} TO ${toSql(owner, 'owner')}`] : give(owner, grant, on, ofColumn),
    ),
  ]
}

/** The owner's own rights are taken with all others, so that the rights come in the order of the list. */
const withOwner = (
  object: GrantedKind,
  column: string | undefined,
  wanted: readonly Grant[],
): readonly (Grant | 'owner')[] =>
  column !== undefined || object.startsWith('new ') || wanted.some(({ to }) => to === 'owner')
    ? wanted
    : ['owner', ...wanted]

function give(owner: string, { to, privileges, grantable }: Grant, on: string, ofColumn = ''): readonly string[] {
  const list = (names: readonly string[]): string => names.map((name) => `${name}${ofColumn}`).join(', ')
  return [
    ...(privileges.length === 0 ? [] : [`GRANT ${list(privileges)} ${on} TO ${toSql(owner, to)}`]),
    ...(grantable.length === 0 ? [] : [`GRANT ${list(grantable)} ${on} TO ${toSql(owner, to)} WITH GRANT OPTION`]),
  ]
}

const toSql = (owner: string, to: Grantee): string =>
  to === 'public' ? 'PUBLIC' : quoteIdentifier(to === 'owner' ? owner : to.role)

/** The statements that say what rights there are on what will be made in a schema, of which nothing has been said yet. */
export const defaultStatements = (
  owner: string,
  schemaName: string,
  wanted: readonly ObjectGrants[],
): readonly string[] =>
  wanted
    .filter(({ object }) => object.startsWith('new '))
    .flatMap(({ object, grants }) => {
      const on = `ON ${object.slice('new '.length).toUpperCase()}`
      return grants.flatMap((grant) => give(owner, grant, on))
    })
    .map((statement) => `ALTER DEFAULT PRIVILEGES IN SCHEMA ${quoteIdentifier(schemaName)} ${statement}`)
