import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { quote, runShell } from './commands.ts'
import type { SampleDatabaseTable } from './sample-database.ts'
import type { ClientPrograms } from './start-postgres.ts'

const RESTORED = 'restored'

/** What PostgreSQL's own programs do with a database. Each writes its result over that of the time before. */
export interface DumpCommands {
  dumpCustom(file: string): Promise<void>
  /** By so many processes, into a folder. @param folder must not be there. */
  dumpFolder(folder: string, jobs: number): Promise<void>
  /** Copies all tables as text to one file. */
  copyText(file: string): Promise<void>
  /** Writes down what was written before, which would be done while something else is measured. */
  settle(): Promise<void>
  /** Makes an empty database to restore into. */
  makeTarget(): Promise<void>
  /** Drops it, whose tables autovacuum would analyze while something else is measured. */
  dropTarget(): Promise<void>
  /** In one transaction. */
  restoreInOne(file: string): Promise<void>
  /** By so many processes. */
  restore(file: string, jobs: number): Promise<void>
}

/** @param url a superuser's, of the database. @param scriptDir gets psql's script. */
export async function createDumpCommands(
  { psql, pgDump, pgRestore }: ClientPrograms,
  {
    url,
    tables,
    scriptDir,
  }: { readonly url: string; readonly tables: readonly SampleDatabaseTable[]; readonly scriptDir: string },
): Promise<DumpCommands> {
  const script = join(scriptDir, 'copy.sql')
  await writeFile(script, tables.map(({ name }) => `COPY ${name} TO STDOUT;\n`).join(''))
  const target = Object.assign(new URL(url), { pathname: `/${RESTORED}` }).href
  const asSuperuser = async (statements: readonly string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
  const run = (...words: string[]): Promise<void> => runShell(words.map(quote).join(' '))
  return {
    dumpCustom: (file) => run(pgDump, '-Fc', '-Z1', '-f', file, url),
    dumpFolder: (folder, jobs) => run(pgDump, '-Fd', `-j${jobs}`, '-Z1', '-f', folder, url),
    copyText: (file) => runShell(`${[psql, '-X', '-q', '-f', script, url].map(quote).join(' ')} > ${quote(file)}`),
    settle: () => asSuperuser(['CHECKPOINT']),
    makeTarget: () => asSuperuser([`CREATE DATABASE ${RESTORED}`, 'CHECKPOINT']),
    dropTarget: () => asSuperuser([`DROP DATABASE ${RESTORED}`]),
    restoreInOne: (file) => run(pgRestore, '-1', '-d', target, file),
    restore: (file, jobs) => run(pgRestore, `-j${jobs}`, '-d', target, file),
  }
}

/** Removes a file or a folder, where it is there. */
export const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true })
