import { conflict } from '../../errors.ts'
import { defaultStatements, grantStatements } from '../structure/grants/grant-statements.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { readGrants } from '../structure/grants/read-grants.ts'
import { readGrantsState } from '../structure/grants/stage-grants.ts'
import type { Query } from '../structure/query.ts'

/** Who may do what in a stage once it has been replaced. */
export interface StageRights {
  readonly grants: readonly ObjectGrants[]
  /**
   * Whether they are all: an object that is not among them has what PostgreSQL gives by itself. Else they are of the schema,
   * and of what will be made in it.
   */
  readonly isAll: boolean
}

/** The statements that come before everything that is made: they say what rights that has. */
export const rightsBefore = ({ grants, isAll }: StageRights, login: string, schemaName: string): readonly string[] =>
  isAll ? [] : defaultStatements(login, schemaName, grants)

/**
 * The statements that give the rights on what was made, and say what those on later objects are.
 *
 * @param query in the session of the project's own login that made it.
 */
export async function rightsAfter(
  query: Query,
  { grants, isAll }: StageRights,
  login: string,
  schemaName: string,
): Promise<readonly string[]> {
  if (!isAll) return []
  const made = await readObjects(query, schemaName)
  return [...grantStatements(login, made, grants), ...defaultStatements(login, schemaName, grants)]
}

/** The statements that give the rights on a schema that nobody but its owner has any on. */
export const schemaRights = (grants: readonly ObjectGrants[], login: string, target: string): readonly string[] =>
  grantStatements(
    login,
    [{ object: 'schema', target, grants: [] }],
    grants.filter(({ object }) => object === 'schema'),
  )

/** The schema itself does not belong to the project yet. */
async function readObjects(query: Query, schemaName: string) {
  const [schema] = await query<{ oid: string }>(
    'SELECT oid::text FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name',
    [schemaName],
  )
  const all = schema ? await readGrants(query, schema.oid) : []
  return all.filter(({ object }) => object !== 'schema')
}

/** @throws {AppError} CONFLICT where rights in the stage are others than they were: they would be lost. */
export async function assertSameRights(query: Query, schemaName: string, before: string): Promise<void> {
  if ((await readGrantsState(query, schemaName)) === before) return
  throw conflict('rights on the stage were granted or taken while the import ran; nothing was changed, try again')
}
