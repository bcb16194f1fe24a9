import { asTree, type Tree } from '../../archive/sql/grammar.ts'

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
  return undefined
}
