import type { LineContent } from '../archive/lines.ts'
import type { Container } from '../container.ts'
import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import { isAppError } from '../errors.ts'
import { type ExtensionState, readExtension, reasonAgainst } from '../projects/extensions.ts'
import type { NewExtension } from '../projects/own-database/own-databases.ts'
import type { OwnScratch } from './scratch-projects.ts'

/** What an archive says of a project's stages. */
export interface ArchivedStage {
  readonly slug: string
  /** The schema that it was; undefined where that was one of Wharf's shared database. */
  readonly sourceSchema: string | undefined
  readonly extensions: LineContent<'extension'>[]
}

/** How an archive's project is restored: in a database of its own, or else why not, where that could matter. */
export interface OwnPlan {
  readonly own?: OwnScratch
  readonly reason?: string
}

type Services = Pick<Container, 'control' | 'config' | 'ownDatabases'>

/** Names that PostgreSQL keeps for itself, and those that Wharf makes beside stages. */
const RESERVED = /^(?:pg_|wharf_|information_schema$)/

/**
 * Plans a database in which an archive's stages have the schemas that they had, and extensions stand where they stood: what
 * bodies of functions name by its schema is found there, as it was where the archive was made.
 */
export async function planOwn(services: Services, stages: readonly ArchivedStage[]): Promise<OwnPlan> {
  const schemas = stages.flatMap(({ sourceSchema }) => sourceSchema ?? [])
  const isWhole = schemas.length === stages.length && new Set(schemas).size === schemas.length
  if (schemas.length === 0 || !isWhole || schemas.some((schema) => RESERVED.test(schema))) return SHARED
  try {
    await services.ownDatabases.assertMayMake()
  } catch (error) {
    if (!isAppError(error, 'DATABASE_UNSUITABLE')) throw error
    return { reason: error.message }
  }
  const extensions: NewExtension[] = []
  const lines = new Map(stages.flatMap((stage) => stage.extensions).map((line) => [line.name, line]))
  for (const { name, sourceSchema = EXTENSIONS_SCHEMA } of lines.values()) {
    const state = await readExtension(services.control, name)
    const reason = await whyNotMade(services, name, state)
    if (reason !== undefined) return { reason }
    extensions.push({ name, schema: state.ownSchema === null ? toOpen(sourceSchema) : undefined })
  }
  return { own: { schemas, extensions } }
}

const toOpen = (schema: string): string => (RESERVED.test(schema) ? EXTENSIONS_SCHEMA : schema)

/** Where the shared database has an extension, its operator wants it there. */
async function whyNotMade(
  { control, config }: Services,
  name: string,
  state: ExtensionState,
): Promise<string | undefined> {
  const reason = state.schema === null ? reasonAgainst(name, state, config.extensions) : undefined
  if (reason !== undefined || state.trusted) return reason
  const [login] = await control.prisma.$queryRaw<{ name: string; isSuperuser: boolean }[]>`
    SELECT rolname::text AS name, rolsuper AS "isSuperuser" FROM pg_roles WHERE rolname = current_user`
  if (login?.isSuperuser) return undefined
  return `only a superuser may make the extension "${name}" in a database of its own, and Wharf's login "${login?.name}" is none`
}

const SHARED: OwnPlan = {}
