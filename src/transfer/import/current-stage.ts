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
import type { Query } from '../structure/query.ts'
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

function readWithin(
  { database, stage, isOwn, extensionSchemas }: Omit<StageOfProject, 'project'>,
  countRowsToo: boolean,
): Promise<CurrentStage> {
  return database.prisma.$transaction(
    async (tx) => {
      await tx.$executeRawUnsafe('SET TRANSACTION READ ONLY')
      await tx.$executeRawUnsafe(searchStage(stage.schemaName, extensionSchemas))
      await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`)
      const query: Query = (sql, parameters) => tx.$queryRawUnsafe(sql, ...parameters)
      const schemaOwner = await findOtherOwner(query, stage)
      const structureState = isOwn ? '' : await readStructureState(query, stage.schemaName)
      const structure = await readStructure(query, stage.schemaName)
      const schemaRights = isOwn ? undefined : await readSchemaRights(query, stage.schemaName)
      const outsideUsers = await findOutsideUsers(query, stage.schemaName, { besidesImports: !isOwn })
      const grants = await readStageGrants(query, stage.schemaName)
      const rightsState = await readGrantsState(query, stage.schemaName)
      const ours = isOwn ? new Set<string>() : await readOurTables(query, stage.schemaName)
      const ofOthers = tablesOfOthers(structure, ours)
      const withRows = tablesOf(structure).filter(
        ({ line }) => line.partitionBy === undefined && !ofOthers.some(({ name }) => name === line.name),
      )
      const tables = countRowsToo ? withRows.map(({ line }) => line.name) : []
      // Policies that hold their owner, too, hide rows from the project's login; rows are counted as that sees them.
      if (tables.length > 0) await tx.$executeRawUnsafe('SET LOCAL row_security = on')
      const counted = await countRows(tx, stage.schemaName, tables)
      const rows = new Map(counted.map((table) => [table.name, table.rows]))
      const [server] = await query<{ version: number }>(
        `SELECT pg_catalog.current_setting('server_version_num')::integer / 10000 AS version`,
        [],
      )
      const state = { rightsState, structureState }
      return {
        ...{ structure, schemaOwner, outsideUsers, grants, schemaRights, ofOthers, rows },
        ...state,
        version: server?.version ?? 0,
      }
    },
    { isolationLevel: 'RepeatableRead', timeout: 10 * 60_000 },
  )
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
