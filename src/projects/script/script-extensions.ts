import type pg from 'pg'
import { rejected } from '../sql-rejected.ts'
import { createKnownNames, type KnownNames } from './known-names.ts'

/** Makes sure that an extension is there. @returns why it is not; undefined where it is. */
export type EnsureExtension = (name: string) => Promise<string | undefined>

/** The extensions that a script can use. */
export interface ScriptExtensions extends KnownNames {
  /** Carries out a CREATE EXTENSION of the script. @throws {AppError} SQL_REJECTED where it cannot be there. */
  make(name: string, line: number): Promise<void>
}

/** @param client in which a script is going to run. */
export async function openExtensions(
  client: pg.PoolClient,
  stageSchema: string,
  ensure: EnsureExtension,
): Promise<ScriptExtensions> {
  const names = createKnownNames(client, stageSchema)
  await names.refresh()
  return {
    find: names.find,
    findAll: names.findAll,
    findBuiltIn: names.findBuiltIn,
    findNameColumns: names.findNameColumns,
    async make(name, line) {
      const reason = await ensure(name)
      if (reason !== undefined) throw rejected(reason, { line })
      await names.refresh()
    },
  }
}
