import { EXTENSIONS_SCHEMA, SEARCHED_SCHEMAS } from '../../contract/extensions-schema.ts'
import type { Database } from '../../database/database.ts'
import { quoteIdentifier } from '../../database/quoting.ts'
import { conflict, type Fault } from '../../errors.ts'
import { type ExtensionState, makeExtension, readExtension, reasonAgainst } from '../../projects/extensions.ts'
import type { ExtensionLine } from '../structure/lines.ts'
import type { ImportServices } from './import-options.ts'
import type { TargetStage } from './target-stage.ts'

type ExtensionServices = Pick<ImportServices, 'system'> & {
  readonly config: Pick<ImportServices['config'], 'extensions'>
}

/** An extension that an archive names, and what the database has of it. */
interface FoundExtension {
  readonly name: string
  /** Where the archive was made. */
  readonly version: string
  readonly state: ExtensionState
}

/**
 * Makes sure that the extensions are there, or can be made, without which stages could not be built from an archive.
 *
 * @throws {AppError} CONFLICT with each that is not, and why. Nothing has changed then.
 */
export async function assertExtensions(
  { system, config }: ExtensionServices,
  stages: readonly TargetStage[],
): Promise<void> {
  const reasons: string[] = []
  for (const [database, making] of makersOf(system, stages)) {
    const found = await findExtensions(database, making)
    const searched = new Set([...SEARCHED_SCHEMAS, ...making.flatMap(searchedIn)])
    reasons.push(...found.flatMap(({ name, state }) => reasonToRefuse(name, state, searched, config.extensions) ?? []))
    if (found.length > 0) reasons.push(...(await unusableSchemas(database, making)))
  }
  for (const stage of stages) if (!stage.makesExtensions) reasons.push(...(await missingExtensions(stage)))
  throwReasons(reasons)
}

/** In a database that is not Wharf's, its owner says what is there. */
async function missingExtensions({ database, structure, mode }: TargetStage): Promise<readonly string[]> {
  const found = mode === 'build' ? await readExtensions(database, structure.extensions) : []
  return found.flatMap(({ name, state: { schema } }) =>
    schema === null
      ? [`the database lacks the extension "${name}": make it there first (CREATE EXTENSION ${quoteIdentifier(name)})`]
      : [],
  )
}

/** The extensions that a stage needs which would be built, in the archive and in the database; null where there is none. */
export async function examineExtensions(
  system: Database,
  stage: TargetStage,
): Promise<{ name: string; version: string; versionNow: string | null }[]> {
  const found = await findExtensions(stage.isOwn ? system : stage.database, [stage])
  return found.map(({ name, version, state }) => ({ name, version, versionNow: state.version }))
}

/** Whether the extensions are there without which a stage could not be built from an archive. */
export async function hasExtensions(system: Database, stage: TargetStage): Promise<boolean> {
  const found = await findExtensions(stage.isOwn ? system : stage.database, [stage])
  return found.every(({ state: { schema } }) => schema !== null)
}

/**
 * Makes the extensions that stages to be built need and that are not there, for all projects: they stay, whatever becomes
 * of the import. To be called once it is known that they may be made.
 *
 * @throws {AppError} CONFLICT for one that cannot be made.
 */
export async function makeExtensions(
  { system }: Pick<ExtensionServices, 'system'>,
  stages: readonly TargetStage[],
): Promise<void> {
  for (const [database, making] of makersOf(system, stages)) {
    for (const { name, state } of await findExtensions(database, making)) {
      const reason = state.schema === null ? await makeExtension(database, name, state) : undefined
      throwReasons(reason === undefined ? [] : [reason])
    }
  }
}

/**
 * The stages for which Wharf makes extensions, by who makes them: Wharf's own login in the shared database, and the project's
 * own in a database of its own.
 */
function makersOf(system: Database, stages: readonly TargetStage[]): ReadonlyMap<Database, readonly TargetStage[]> {
  const makers = new Map<Database, TargetStage[]>()
  for (const stage of stages) {
    if (!stage.makesExtensions) continue
    const maker = stage.isOwn ? system : stage.database
    makers.set(maker, [...(makers.get(maker) ?? []), stage])
  }
  return makers
}

/** In an order in which each can be made. */
async function findExtensions(database: Database, stages: readonly TargetStage[]): Promise<readonly FoundExtension[]> {
  const lines = stages.flatMap(({ mode, structure }): readonly ExtensionLine[] =>
    mode === 'build' ? structure.extensions : [],
  )
  return readExtensions(database, lines)
}

async function readExtensions(database: Database, lines: readonly ExtensionLine[]): Promise<readonly FoundExtension[]> {
  const found: FoundExtension[] = []
  for (const { name, version } of new Map(lines.map((line) => [line.name, line])).values()) {
    found.push({ name, version, state: await readExtension(database, name) })
  }
  return found
}

/** In a database of a project's own, also the schemas in which it has made extensions itself. */
const searchedIn = ({ isOwn, extensionSchemas, stage }: TargetStage): readonly string[] =>
  isOwn ? extensionSchemas : [stage.schemaName, ...extensionSchemas]

function reasonToRefuse(
  name: string,
  state: ExtensionState,
  searched: ReadonlySet<string>,
  allowed: readonly string[] | undefined,
): string | undefined {
  const reason = state.schema === null ? reasonAgainst(name, state, allowed) : undefined
  if (reason !== undefined) return reason
  const schema = state.schema ?? state.ownSchema ?? EXTENSIONS_SCHEMA
  if (searched.has(schema)) return undefined
  const remedy = state.schema === null ? '' : `; the operator moves it to the schema "${EXTENSIONS_SCHEMA}"`
  return `the extension "${name}" is in the schema "${schema}" of this database, where stages do not look${remedy}`
}

/** Where an operator has made the schema of extensions, projects may have no right to use it. */
async function unusableSchemas({ prisma }: Database, stages: readonly TargetStage[]): Promise<readonly string[]> {
  const logins = stages.map(({ login }) => login)
  const rows = await prisma.$queryRaw<{ login: string }[]>`
    SELECT rolname::text AS login FROM pg_roles JOIN pg_namespace ON nspname = ${EXTENSIONS_SCHEMA}
    WHERE rolname = ANY (${logins}::text[]) AND NOT has_schema_privilege(pg_roles.oid, pg_namespace.oid, 'USAGE')`
  return rows.map(
    ({ login }) =>
      `the login "${login}" may not use the schema "${EXTENSIONS_SCHEMA}": its owner allows it ` +
      `(GRANT USAGE ON SCHEMA ${EXTENSIONS_SCHEMA} TO PUBLIC)`,
  )
}

function throwReasons(reasons: readonly string[]): void {
  const faults: readonly Fault[] = reasons.map((detail) => ({ detail }))
  const [first, ...others] = faults
  if (!first) return
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  throw conflict(`the stage cannot be built from the archive: ${first.detail}${more}`, faults)
}
