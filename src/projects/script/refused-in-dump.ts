import { asList, asTree, type Tree, treeAt } from '../../archive/sql/grammar.ts'
import { textsOf } from './parse-statement.ts'

/** What to do about a statement of a dump that no stage can run; undefined for any other. */
export function refusedInDump(tree: Tree, schema: string): string | undefined {
  const [[kind, value] = ['', undefined]] = Object.entries(tree)
  const node = asTree(value)
  if (kind === 'CreateSchemaStmt') {
    const name = String(node.schemaname)
    return (
      `the dump has a schema "${name}" beside "${schema}", and a stage is one schema: dump each by itself ` +
      `(pg_dump --schema), and load "${name}" with --schema ${name}`
    )
  }
  if (kind === 'CreateRoleStmt' || kind === 'CreatedbStmt') {
    return 'this is a dump of a whole server: dump one database, with pg_dump and not with pg_dumpall'
  }
  const [name, option] = OF_DATABASE[kind] ?? []
  if (name !== undefined) return `${name} are the whole database's, and no stage has them: ${option}`
  if (kind === 'SelectStmt' && asList(node.targetList).some(makesLargeObject)) {
    return 'the dump has large objects, which no stage holds: dump without them (pg_dump --no-blobs)'
  }
  return undefined
}

/** What a database has beside its schemas, and what to do about it. */
const OF_DATABASE: Readonly<Record<string, readonly [string, string]>> = {
  CreatePublicationStmt: ['publications', 'dump without them (pg_dump --no-publications)'],
  CreateSubscriptionStmt: ['subscriptions', 'dump without them (pg_dump --no-subscriptions)'],
  CreateEventTrigStmt: ['event triggers', 'dump one schema alone (pg_dump --schema), or take them out of the dump'],
}

const makesLargeObject = (target: unknown): boolean =>
  textsOf(treeAt(asTree(target), 'ResTarget', 'val', 'FuncCall').funcname).join('.') === 'pg_catalog.lo_create'
