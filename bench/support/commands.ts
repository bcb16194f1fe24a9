import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { SAMPLE_COLUMNS, SAMPLE_TABLE } from './sample-table.ts'
import type { BenchPostgres } from './start-postgres.ts'

const COPY_OUT = fileURLToPath(new URL('copy-out.ts', import.meta.url))

export interface Commands {
  /** COPY of the rows as JSON arrays, piped through `gzip -1`: what an export is held against. */
  jsonGzip(path: string): Promise<void>
  json(path: string): Promise<void>
  /** COPY of the table in PostgreSQL's own text. */
  text(path: string): Promise<void>
  /** Undefined where there is no pg_dump. */
  readonly dumpGzip: ((path: string) => Promise<void>) | undefined
}

/** Other ways to bring the sample table into a file. Each writes it to `path`. */
export function createCommands(postgres: BenchPostgres, schemaName: string): Commands {
  const table = `"${schemaName}".${SAMPLE_TABLE}`
  const json = `COPY (SELECT json_build_array(${SAMPLE_COLUMNS.join(', ')}) FROM ${table}) TO STDOUT`
  const { programs } = postgres
  const copy = programs
    ? (statement: string) => [programs.psql, '-X', '-q', '-c', statement, postgres.superuserUrl]
    : (statement: string) => [process.execPath, '--import', 'tsx', COPY_OUT, statement]
  const run = (words: readonly string[], rest: string) => (path: string) =>
    runShell([...words.map(quote), rest, '>', quote(path)].join(' '), { PGURL: postgres.superuserUrl })
  return {
    jsonGzip: run(copy(json), '| gzip -1'),
    json: run(copy(json), ''),
    text: run(copy(`COPY ${table} TO STDOUT`), ''),
    dumpGzip: programs && run([programs.pgDump, '--data-only', '--table', table, postgres.superuserUrl], '| gzip -1'),
  }
}

/** A word of a shell's command. */
export const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Runs a command of a shell. @throws where it does not succeed. */
export async function runShell(command: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`a command to compare with ended with exit code ${code}`)
}
