import { askTogether } from '../../database/ask-together.ts'
import { findOutsideUsers } from '../../database/outside-users.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'
import { stillLocked } from '../../projects/lock-owners.ts'
import type { Project } from '../../projects/projects.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import { searchStage } from '../../projects/stage-path.ts'
import type { Stage } from '../../projects/stages.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { readGrantsState, readStageGrants } from '../structure/grants/stage-grants.ts'
import { PREPARE_READING, type Query } from '../structure/query.ts'
import { readStructure, type StageStructure, tablesOf } from '../structure/read-structure.ts'
import { countRows } from './count-rows.ts'
import { readOurTables, readSchemaRights, type SchemaRights } from './external/schema-rights.ts'
import { readStructureState } from './external/structure-state.ts'

/** A stage, by its project and the database that it is in. */
export interface StageOfProject extends ProjectDatabase {
  readonly project: Pick<Project, 'id' | 'slug'>
  readonly stage: Stage
}

/** A stage as it is. */
export interface CurrentStage {
  readonly structure: StageStructure
  /** Whose the schema is, where it is not the project's login's: only they could give it to what replaces it. */
  readonly schemaOwner: string | undefined
  /** What depends on it in other schemas, in words. */
  readonly outsideUsers: readonly string[]
  readonly grants: readonly ObjectGrants[]
  readonly rightsState: string
  readonly structureState: string
  /** What the login may do about schemas, where they are not in Wharf's own database. */
  readonly schemaRights: SchemaRights | undefined
  /** The tables that it may not load, each with whose they are. */
  readonly ofOthers: StageStructure['notExported']
  /** PostgreSQL's major version. */
  readonly version: number
  readonly rows: ReadonlyMap<string, number>
}

/** How long it is waited for a table that another session has locked: nobody can write to the stage meanwhile. */
const LOCK_TIMEOUT = '5s'

/** How long a statement may take: to count rows is to read a table. */
const STATEMENT_TIMEOUT = '10min'

/**
 * Looks at a stage as it is.
 *
 * @param countRowsToo reads every table.
 * @throws {AppError} CONFLICT where a table stays locked, or is not the login's to read.
 */
export async function readCurrentStage(
  of: Omit<StageOfProject, 'project'>,
  countRowsToo: boolean,
): Promise<CurrentStage> {
  const { database, stage } = of
  return readWithin(of, countRowsToo).catch(async (error: unknown) => {
    if (sqlState(error) === SQLSTATE.insufficientPrivilege) {
      throw conflict(`the project's own login may not look at all of stage "${stage.slug}": ${sqlMessage(error)}`)
    }
    if (sqlState(error) !== SQLSTATE.lockNotAvailable) throw error
    const { schemaName } = stage
    const query = async (sql: string, parameters: readonly unknown[]) =>
      (await database.pool.query(sql, [...parameters])).rows
    throw await stillLocked(query, { schemaName, what: 'the stage could not be looked at', cause: error })
  })
}

async function readWithin(of: Omit<StageOfProject, 'project'>, countRowsToo: boolean): Promise<CurrentStage> {
  const client = await of.database.pool.connect()
  let failure: Error | undefined
  try {
    await client.query(`
      BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
      ${searchStage(of.stage.schemaName, of.extensionSchemas)};
      SET LOCAL lock_timeout = '${LOCK_TIMEOUT}';
      SET LOCAL statement_timeout = '${STATEMENT_TIMEOUT}';
      ${PREPARE_READING.join('; ')}`)
    const current = await readAll(askTogether(client), of, countRowsToo)
    await client.query('COMMIT')
    return current
  } catch (error) {
    // With the session, its transaction ends.
    failure = new Error('a stage could not be looked at', { cause: error })
    throw error
  } finally {
    client.release(failure)
  }
}

async function readAll(
  query: Query,
  { stage: { schemaName, ...stage }, isOwn }: Omit<StageOfProject, 'project'>,
  countRowsToo: boolean,
): Promise<CurrentStage> {
  const schemaOwner = await findOtherOwner(query, { schemaName, ...stage })
  // Before the structure: a change that comes between them is found when the state is compared.
  const structureState = isOwn ? '' : await readStructureState(query, schemaName)
  const [structure, schemaRights, outsideUsers, grants, rightsState, ours, [server]] = await Promise.all([
    readStructure(query, schemaName),
    isOwn ? undefined : readSchemaRights(query, schemaName),
    findOutsideUsers(query, schemaName, { besidesImports: !isOwn }),
    readStageGrants(query, schemaName),
    readGrantsState(query, schemaName),
    isOwn ? new Set<string>() : readOurTables(query, schemaName),
    query<{ version: number }>(
      `SELECT pg_catalog.current_setting('server_version_num')::integer / 10000 AS version`,
      [],
    ),
  ])
  const ofOthers = tablesOfOthers(structure, ours)
  const withRows = tablesOf(structure).filter(
    ({ line }) => line.partitionBy === undefined && !ofOthers.some(({ name }) => name === line.name),
  )
  const tables = countRowsToo ? withRows.map(({ line }) => line.name) : []
  // Policies that hold their owner, too, hide rows from the project's login; rows are counted as that sees them.
  if (tables.length > 0) {
    await Promise.all([
      query('SET LOCAL row_security = on', []),
      query('SET LOCAL max_parallel_workers_per_gather TO DEFAULT', []),
    ])
  }
  const counted = await countRows(query, schemaName, tables)
  const rows = new Map(counted.map((table) => [table.name, table.rows]))
  return {
    ...{ structure, schemaOwner, outsideUsers, grants, schemaRights, ofOthers, rows },
    ...{ rightsState, structureState, version: server?.version ?? 0 },
  }
}

/** @throws {AppError} CONFLICT where the login may not even name what is in the schema. */
async function findOtherOwner(query: Query, { slug, schemaName }: Stage): Promise<string | undefined> {
  const [other] = await query<{ owner: string; usable: boolean }>(
    `SELECT pg_catalog.pg_get_userbyid(nspowner)::text AS owner,
            pg_catalog.has_schema_privilege(oid, 'USAGE') AS usable
       FROM pg_catalog.pg_namespace
      WHERE nspname = $1::pg_catalog.name AND pg_catalog.pg_get_userbyid(nspowner) <> CURRENT_USER`,
    [schemaName],
  )
  if (other?.usable === false) {
    const schema = `the schema of stage "${slug}", which belongs to ${other.owner}`
    throw conflict(`the project's own login may not use ${schema}`)
  }
  return other?.owner
}

/** The tables that the project's own login may not load, each with whose they are. @param ours of others, which it may. */
function tablesOfOthers(structure: StageStructure, ours: ReadonlySet<string>): StageStructure['notExported'] {
  const names = new Set(tablesOf(structure).flatMap(({ line }) => (ours.has(line.name) ? [] : [line.name])))
  return structure.notExported.filter(({ kind, name }) => kind === 'owner' && names.has(name))
}

/** Whether there is nothing in a stage, so that an archive would build it. */
export const isEmpty = ({ sequences, inOrder, notExported }: StageStructure): boolean =>
  [sequences, inOrder, notExported].every((list) => list.length === 0)

/** Whether a stage is empty now. */
export const isEmptyStage = async (of: Omit<StageOfProject, 'project'>): Promise<boolean> =>
  isEmpty((await readCurrentStage(of, false)).structure)
