import type pg from 'pg'
import { quoteIdentifier } from '../../database/quoting.ts'
import { EXTENSIONS_SCHEMA } from '../extensions.ts'
import { rejected } from '../sql-rejected.ts'
import { createExtensionNames, type ExtensionNames } from './extension-names.ts'

/** Makes sure that an extension is there. @returns why it is not; undefined where it is. */
export type EnsureExtension = (name: string) => Promise<string | undefined>

/** The extensions that a script can use. */
export interface ScriptExtensions extends Pick<ExtensionNames, 'find'> {
  /** Carries out a CREATE EXTENSION of the script. @throws {AppError} SQL_REJECTED where it cannot be there. */
  make(name: string, line: number): Promise<void>
}

/** Behind the stage's own names, those of extensions are found too, unless anybody else can make something there. */
const MAY_BE_SEARCHED = `SELECT coalesce(
  pg_catalog.has_schema_privilege(oid, 'USAGE') AND NOT pg_catalog.has_schema_privilege(oid, 'CREATE'), false) AS may
  FROM pg_catalog.pg_namespace WHERE nspname = $1`

/** @param client in which a script is going to run, whose `search_path` is the stage's schema. */
export async function openExtensions(
  client: pg.PoolClient,
  stageSchema: string,
  ensure: EnsureExtension,
): Promise<ScriptExtensions> {
  const names = createExtensionNames(client, stageSchema)
  const look = async (): Promise<void> => {
    await names.refresh()
    const { rows } = await client.query<{ may: boolean }>(MAY_BE_SEARCHED, [EXTENSIONS_SCHEMA])
    if (!rows[0]?.may) return
    const path = [stageSchema, EXTENSIONS_SCHEMA].map(quoteIdentifier).join(', ')
    await client.query(`SET LOCAL search_path = ${path}`)
  }
  await look()
  return {
    find: names.find,
    async make(name, line) {
      const reason = await ensure(name)
      if (reason !== undefined) throw rejected(reason, { line })
      await look()
    },
  }
}
