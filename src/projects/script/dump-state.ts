import { rejected } from '../sql-rejected.ts'
import type { DumpMap } from './map-statement.ts'

/** The first and the last comment of a plain dump, in every version of pg_dump. */
const BEGINNING = '-- PostgreSQL database dump'
const END = '-- PostgreSQL database dump complete'
const OF_A_SERVER = '-- PostgreSQL database cluster dump'

/** The first statement of a dump: Rails' `db/structure.sql` and `supabase db dump` leave out the comments before it. */
const FIRST_STATEMENT = /^set\s+statement_timeout\s*=\s*0$/i

/** What pg_dump calls the schema that a database begins with. */
const DEFAULT_SCHEMA = 'public'

/** Follows whether a script is a dump, which its comments say, or its first statement. */
export function createDumpState(
  { schema, stageSchema }: { readonly schema?: string | undefined; readonly stageSchema: string },
  login: string,
) {
  const named: DumpMap = { schema: schema ?? DEFAULT_SCHEMA, login, stageSchema }
  let map = schema === undefined ? undefined : named
  let isOpen = false
  let isAtStart = true
  return {
    /** How names become those of the stage; undefined where they are left as they are. */
    map: (): DumpMap | undefined => map,
    /** @throws {AppError} SQL_REJECTED for a dump of several databases. */
    onComment(text: string, line: number): void {
      if (text === OF_A_SERVER) {
        throw rejected('this is a dump of a whole server: dump one database, with pg_dump and not with pg_dumpall', {
          line,
        })
      }
      if (text === BEGINNING) [map, isOpen] = [named, true]
      if (text === END) isOpen = false
    },
    /** @param text without the semicolon behind it. */
    onStatement(text: string): void {
      if (isAtStart && FIRST_STATEMENT.test(text)) map = named
      isAtStart = false
    },
    /** @throws {AppError} SQL_REJECTED for a dump without its end. */
    assertWhole(line: number): void {
      if (isOpen) {
        throw rejected(`the dump is cut off: its last line, "${END}", is missing`, { line })
      }
    },
  }
}
