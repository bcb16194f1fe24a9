import { lacksRows } from '../../contract/completeness.ts'
import type { Database } from '../../database/database.ts'
import { findOutsideUsers } from '../../database/outside-users.ts'
import { SQLSTATE, sqlMessage, sqlState } from '../../database/sqlstate.ts'
import { conflict } from '../../errors.ts'
import { stillLocked } from '../../projects/lock-owners.ts'
import type { Project } from '../../projects/projects.ts'
import { type FindRoles, readExternalRoles } from '../../projects/role-names.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import { searchStage } from '../../projects/stage-path.ts'
import type { Stage } from '../../projects/stages.ts'
import type { StructureLines } from '../structure/create-statements.ts'
import type { ObjectGrants } from '../structure/grants/grants.ts'
import { readGrantsState, readStageGrants } from '../structure/grants/stage-grants.ts'
import { type LeftOut, leftOutGrant } from '../structure/grants/without-roles.ts'
import { isTableEntry, type TableLine, tablesIn } from '../structure/lines.ts'
import type { Query } from '../structure/query.ts'
import { readStructure, type StageStructure, tablesOf, toLines } from '../structure/read-structure.ts'
import type { ArchiveStage } from './archive-lists.ts'
import { countRows } from './count-rows.ts'
import { readOurTables, readSchemaRights, reasonsAgainstBeside, type SchemaRights } from './external/schema-rights.ts'
import { readStructureState } from './external/structure-state.ts'
import { type KnownRights, knownRights, rightsIn } from './rights-of-archive.ts'
import type { StageIdentity } from './shadow-schemas.ts'
import type { StageRights } from './stage-rights.ts'

/** How a stage's rows come into it. */
export type LoadingMode =
  /** The stage is empty: it is built from the archive's structure lines, beside, and swapped in. */
  | 'build'
  /** The stage is rebuilt from its own structure, beside, and swapped in. */
  | 'swap'
  /**
   * The stage has what structure lines can't describe, or something outside of it hangs on its tables: they are
   * emptied and loaded where they are.
   */
  | 'in place'

/** A stage, by its project and the database that it is in. */
export interface StageOfProject extends ProjectDatabase {
  readonly project: Pick<Project, 'id' | 'slug'>
  readonly stage: Stage
}

export const identityOf = ({ stage, login }: StageOfProject): StageIdentity => ({
  stageId: stage.id,
  schemaName: stage.schemaName,
  login,
})

export interface TargetStage extends StageOfProject {
  /** What comes. */
  readonly archived: ArchiveStage
  readonly mode: LoadingMode
  /** Why it is loaded in place, where it is, in words. */
  readonly reasonsInPlace: readonly string[]
  /**
   * What takes the place of what where it is loaded beside: one schema of the other, or, where the schema is not the login's to
   * rename, each object of the one that was.
   */
  readonly exchanged: 'schemas' | 'objects'
  /** What the stage is after the import; for `build` the archive's structure, else its own. */
  readonly structure: StructureLines
  readonly comment: string | undefined
  /** Who may do what in it after the import; in place, the rights stay as they are. */
  readonly rights: StageRights
  /** What tells whether rights in the stage were changed since it was looked at. */
  readonly rightsState: string
  /** The same of its structure, where it is not in Wharf's own database. */
  readonly structureState: string
  /** Rights and policies of the archive that it does not get. */
  readonly leftOut: readonly LeftOut[]
  /** What keeps its rows, since no archive can hold them. */
  readonly notReplaced: StageStructure['notExported']
  /** What keeps the archive from being loaded as the mode says, in words. */
  readonly reasonsAgainst: readonly string[]
  /** Rows in the tables now, by table; empty where nobody asked for them. */
  readonly rowsNow: ReadonlyMap<string, number>
}

/**
 * Looks at a stage as it is.
 *
 * @param options `findRoles`: looks roles and logins of Wharf's own server up; `countRows`: whether to count the rows that there
 *   are now, which reads every table.
 */
export async function examineStage(
  of: StageOfProject,
  archived: ArchiveStage,
  { findRoles, countRows }: { readonly findRoles: FindRoles; readonly countRows: boolean },
): Promise<TargetStage> {
  const current = await readTarget(of, countRows)
  const { rows: rowsNow, rightsState, structureState, ...found } = current
  const coming = await knownRights(of.isOwn ? findRoles : findRolesIn(of.database), archived)
  return { ...of, archived, rowsNow, rightsState, structureState, ...whatBecomesOf(of, archived, coming, found) }
}

const findRolesIn =
  ({ prisma }: Database): FindRoles =>
  (names) =>
    readExternalRoles((sql, parameters) => prisma.$queryRawUnsafe(sql, ...parameters), names)

/** Whether there is nothing in a stage, so that an archive would build it. */
export const isEmpty = ({ sequences, inOrder, notExported }: StageStructure): boolean =>
  [sequences, inOrder, notExported].every((list) => list.length === 0)

/** Whether a stage is empty now. */
export const isEmptyStage = async (of: Omit<StageOfProject, 'project'>): Promise<boolean> =>
  isEmpty((await readTarget(of, false)).structure)

interface CurrentStage {
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

/** How many reasons are given for loading a stage in place. */
const MAX_REASONS = 20

/** How long it is waited for a table that another session has locked: nobody can write to the stage meanwhile. */
const LOCK_TIMEOUT = '5s'

/** @throws {AppError} CONFLICT where a table stays locked, or is not the login's to read. */
async function readTarget(of: Omit<StageOfProject, 'project'>, countRowsToo: boolean): Promise<CurrentStage> {
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
      const outsideUsers = await findOutsideUsers(query, stage.schemaName)
      const grants = await readStageGrants(query, stage.schemaName)
      const rightsState = await readGrantsState(query, stage.schemaName)
      const ours = isOwn ? new Set<string>() : await readOurTables(query, stage.schemaName)
      const ofOthers = tablesOfOthers(structure, ours)
      const withRows = tablesOf(structure).filter(
        ({ line }) => line.partitionBy === undefined && !ofOthers.some(({ name }) => name === line.name),
      )
      const tables = countRowsToo ? withRows.map(({ line }) => line.name) : []
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

type Becomes = Omit<TargetStage, keyof StageOfProject | 'archived' | 'rowsNow' | 'rightsState' | 'structureState'>

function whatBecomesOf(
  of: StageOfProject,
  archived: ArchiveStage,
  coming: KnownRights,
  current: Omit<CurrentStage, 'rows' | 'rightsState' | 'structureState'>,
): Becomes {
  const { structure, schemaOwner, outsideUsers, grants, version, schemaRights, ofOthers } = current
  const { notExported, comment, extensionsInside } = structure
  const exchanged = !schemaRights || (schemaRights.renamed && extensionsInside.length === 0) ? 'schemas' : 'objects'
  const reasonAgainstBeside = schemaRights
    ? reasonsAgainstBeside({ login: of.login, schemaName: of.stage.schemaName }, schemaRights)
    : schemaOwner === undefined
      ? []
      : [`its schema belongs to ${schemaOwner}, so nothing can be built in its place`]
  if (isEmpty(structure)) {
    const given = coming.grants && rightsIn(coming.structure, coming.grants, version)
    const rights = given ? { grants: given.grants, isAll: true } : { grants, isAll: false }
    const leftOut = [...coming.leftOut, ...(given?.leftOut ?? [])]
    const { comment: comingComment = comment } = archived
    const built = { structure: coming.structure, comment: comingComment, rights, leftOut }
    return {
      mode: 'build',
      reasonsInPlace: [],
      exchanged,
      ...built,
      notReplaced: [],
      reasonsAgainst: reasonAgainstBeside,
    }
  }
  const generated = notExported.filter(({ kind }) => kind === 'generated column')
  // An extension in the schema would go with it.
  const keepsSchema = !schemaRights && extensionsInside.length > 0
  // What comes with a range type belongs to PostgreSQL, and stays where it was made.
  const keepsRanges = exchanged === 'objects' && structure.inOrder.some(({ line }) => line.kind === 'range')
  const reasonsInPlace = [
    ...outsideUsers.map((user) => `${user} is outside of it, and depends on it`),
    ...notExported.map(({ kind, name, detail = '' }) => `${kind} ${name} ${detail}`.trimEnd()),
    ...reasonAgainstBeside,
    ...(schemaRights?.publications ?? []).map((name) => `publication ${name} would send what is loaded beside`),
    ...(keepsSchema ? extensionsInside.map((name) => `the extension ${name} is in its schema`) : []),
    ...(keepsRanges ? ['it has range types, which cannot be moved'] : []),
  ].slice(0, MAX_REASONS)
  const isInPlace = reasonsInPlace.length > 0
  return {
    ...rightsOver(structure, coming, { grants, version, isInPlace }),
    // Its values would have been left out if an archive could say how they are made.
    reasonsAgainst: [
      ...generated.map(({ name }) => `column ${name} is generated, so it does not take the values of the archive`),
      ...ofOthers.map(({ name, detail }) => `table "${name}" ${detail}, so the project's own login cannot load it`),
    ],
    mode: isInPlace ? 'in place' : 'swap',
    reasonsInPlace,
    exchanged,
    notReplaced: notExported.filter(lacksRows),
    structure: withPositions(toLines(structure), archived.structure),
    comment,
  }
}

/** What becomes of the rights on a stage that is not empty; its own policies stay. */
function rightsOver(
  structure: StageStructure,
  coming: KnownRights,
  now: Pick<CurrentStage, 'grants' | 'version'> & { readonly isInPlace: boolean },
): Pick<TargetStage, 'rights' | 'leftOut'> {
  const ofRights = coming.leftOut.filter(({ kind }) => kind === 'grant')
  if (coming.grants === undefined) return { rights: { grants: now.grants, isAll: true }, leftOut: [] }
  if (now.isInPlace) {
    const leftOut = coming.grants.map((object) =>
      leftOutGrant(object, 'the stage is loaded in place, and keeps its rights'),
    )
    return { rights: { grants: now.grants, isAll: true }, leftOut: [...ofRights, ...leftOut] }
  }
  const given = rightsIn(toLines(structure), coming.grants, now.version)
  return { rights: { grants: given.grants, isAll: true }, leftOut: [...ofRights, ...given.leftOut] }
}

/**
 * A structure whose sequences go on where those of the archive stood. Those of identity columns go by their columns:
 * a sequence keeps its name when its table is renamed.
 */
function withPositions(structure: StructureLines, archive: StructureLines): StructureLines {
  const positions = new Map<string, Position>(
    archive.sequences.map((sequence) => [sequence.name, positionOf(sequence)]),
  )
  const identities = new Map<string, Position>(
    tablesIn(archive).flatMap(({ name, columns }) =>
      columns.flatMap((column) =>
        column.identity ? [[columnKey(name, column.name), positionOf(column.identity.sequence)] as const] : [],
      ),
    ),
  )
  return {
    ...structure,
    sequences: structure.sequences.map((sequence) => ({ ...sequence, ...positions.get(sequence.name) })),
    inOrder: structure.inOrder.map((line) =>
      isTableEntry(line) ? { ...line, content: withIdentities(line.content, identities) } : line,
    ),
  }
}

const withIdentities = (table: TableLine, positions: ReadonlyMap<string, Position>): TableLine => ({
  ...table,
  columns: table.columns.map((column) => {
    if (!column.identity) return column
    const position = positions.get(columnKey(table.name, column.name))
    return { ...column, identity: { ...column.identity, sequence: { ...column.identity.sequence, ...position } } }
  }),
})

interface Position {
  readonly value: string
  readonly called: boolean
}

const positionOf = ({ value, called }: Position): Position => ({ value, called })

const columnKey = (table: string, column: string): string => JSON.stringify([table, column])
