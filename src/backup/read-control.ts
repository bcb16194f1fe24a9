import { z } from 'zod'
import { thenCommit, withClient } from '../database/clients.ts'
import type { Database } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import type { Seal } from '../lib/seal.ts'
import { type BackedUpTable, TABLES } from './tables.ts'

/** What a backup begins with. */
export const backupHeader = z.strictObject({
  format: z.literal(1),
  /** Of Wharf. */
  version: z.string(),
  madeAt: z.iso.datetime(),
  installation: z.uuid(),
  /** The newest migration of its database: a program that does not know it cannot read what follows. */
  migration: z.string(),
})
export type BackupHeader = Readonly<z.output<typeof backupHeader>>

/** A row as PostgreSQL writes it as JSON, without its sealed column; `secret` is what that holds. */
export const backedUpRow = z.strictObject({
  table: z.enum(TABLES.map(({ name }) => name)),
  row: z.record(z.string(), z.unknown()),
  secret: z.string().optional(),
})
export type BackedUpRow = Readonly<z.output<typeof backedUpRow>>

const ROWS_AT_ONCE = 500

/**
 * Reads all that a backup holds, as of one moment: lines of JSON, the header first.
 *
 * @throws {SealBroken} where a secret does not open.
 */
export const withControlLines = <T>(
  { pool }: Pick<Database, 'pool'>,
  { seal, header }: { readonly seal: Seal; readonly header: Omit<BackupHeader, 'format' | 'migration'> },
  use: (lines: AsyncGenerator<Buffer, void, undefined>) => Promise<T>,
): Promise<T> =>
  withClient(pool, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return thenCommit(client, () => use(readLines(client, seal, header)))
  })

interface Queries {
  query<Row extends object>(sql: string): Promise<{ readonly rows: readonly Row[] }>
}

async function* readLines(
  client: Queries,
  seal: Seal,
  header: Omit<BackupHeader, 'format' | 'migration'>,
): AsyncGenerator<Buffer, void, undefined> {
  const { rows } = await client.query<{ migration: string }>(
    `SELECT max(migration_name) AS migration FROM public._prisma_migrations WHERE finished_at IS NOT NULL`,
  )
  yield toLine({ format: 1, ...header, migration: rows[0]?.migration ?? '' } satisfies BackupHeader)
  for (const table of TABLES) yield* readTable(client, seal, table)
}

async function* readTable(client: Queries, seal: Seal, table: BackedUpTable): AsyncGenerator<Buffer, void, undefined> {
  const condition = table.where === undefined ? '' : ` WHERE ${table.where}`
  await client.query(
    `DECLARE backed_up NO SCROLL CURSOR FOR SELECT row_to_json(t) AS row FROM control.${quoteIdentifier(table.name)} t${condition}`,
  )
  for (;;) {
    const { rows } = await client.query<{ row: Record<string, unknown> }>(`FETCH ${ROWS_AT_ONCE} FROM backed_up`)
    if (rows.length > 0) yield Buffer.concat(rows.map(({ row }) => toLine(toBackedUp(seal, table, row))))
    if (rows.length < ROWS_AT_ONCE) break
  }
  await client.query('CLOSE backed_up')
}

function toBackedUp(
  seal: Seal,
  { name, sealed, replaced }: BackedUpTable,
  read: Readonly<Record<string, unknown>>,
): BackedUpRow {
  const row: Record<string, unknown> = { ...read, ...replaced }
  if (!sealed) return { table: name, row }
  const { [sealed.column]: value, ...open } = row
  if (typeof value !== 'string') return { table: name, row: open }
  // PostgreSQL writes bytes as `\x` and hexadecimal digits.
  const bytes = Buffer.from(value.slice(2), 'hex')
  return { table: name, row: open, secret: seal.unseal(bytes, sealed.subjectOf(String(row[sealed.owner]))) }
}

const toLine = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`)
