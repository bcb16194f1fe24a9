import type { OpenedBackup } from '../backup/read-backup.ts'
import type { BackedUpRow } from '../backup/read-control.ts'
import { type BackedUpTable, TABLES } from '../backup/tables.ts'
import type { Container } from '../container.ts'
import type { Transaction } from '../database/database.ts'
import { quoteIdentifier } from '../database/quoting.ts'
import type { Seal } from '../lib/seal.ts'

const ROWS_AT_ONCE = 500

const PATIENT = { timeout: 60 * 60_000 }

/** Keeps the service from starting on the database, as a new installation, until a recovery has ended. */
export const noteBegun = ({ control }: Pick<Container, 'control'>, key: string): Promise<unknown> =>
  control.prisma.$executeRaw`UPDATE control.installation SET recovered_from = ${key}`

/**
 * Brings back what a backup holds, sealed with this server's own key: all or nothing. Logins, schemas and databases of
 * projects are still to be made. Schedules are due at no time yet.
 */
export async function bringBack(
  { control, seal }: Pick<Container, 'control' | 'seal'>,
  key: string,
  { header, rows }: OpenedBackup,
): Promise<void> {
  await control.prisma.$transaction(async (tx) => {
    await tx.$executeRaw`UPDATE control.installation SET id = ${header.installation}::uuid, recovered_from = ${key}`
    for await (const { table, rows: batch } of batchesOf(rows)) await insert(tx, seal, table, batch)
    // The login is Wharf's own for stages of other databases than the shared one.
    await tx.$executeRaw`
      INSERT INTO system.stage_state (stage_id, login)
      SELECT stage.id, current_user FROM control.stage JOIN control.project ON project.id = project_id
       WHERE own_database IS NOT NULL OR project.login IS NULL`
  }, PATIENT)
}

/** What comes one after the other for the same table. */
async function* batchesOf(
  rows: AsyncIterable<BackedUpRow>,
): AsyncGenerator<{ readonly table: string; readonly rows: readonly BackedUpRow[] }, void, undefined> {
  let batch: BackedUpRow[] = []
  for await (const row of rows) {
    const [first] = batch
    if (first && (first.table !== row.table || batch.length >= ROWS_AT_ONCE)) {
      yield { table: first.table, rows: batch }
      batch = []
    }
    batch.push(row)
  }
  const [first] = batch
  if (first) yield { table: first.table, rows: batch }
}

async function insert(tx: Transaction, seal: Seal, name: string, rows: readonly BackedUpRow[]): Promise<void> {
  const table = TABLES.find((each) => each.name === name)
  if (!table) throw new Error(`no table "${name}" is backed up`)
  const values = rows.map((row) => ({ ...toRow(seal, table, row), ...changedBy(name, row.row) }))
  // What a newer version has added to a table gets its default.
  const columns = [...new Set(values.flatMap((value) => Object.keys(value)))].map(quoteIdentifier).join(', ')
  await tx.$executeRawUnsafe(
    `INSERT INTO control.${quoteIdentifier(name)} (${columns})
     SELECT ${columns} FROM json_populate_recordset(NULL::control.${quoteIdentifier(name)}, $1::json)`,
    JSON.stringify(values),
  )
}

function toRow(seal: Seal, { sealed }: BackedUpTable, { row, secret }: BackedUpRow): Readonly<Record<string, unknown>> {
  if (!sealed) return row
  if (secret === undefined) return { ...row, [sealed.column]: null }
  const bytes = seal.seal(secret, sealed.subjectOf(String(row[sealed.owner])))
  return { ...row, [sealed.column]: `\\x${Buffer.from(bytes).toString('hex')}` }
}

/** What is otherwise until the recovery has ended. */
function changedBy(table: string, row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (table === 'schedule') return { next_run_at: null, overdue_since: null }
  // Its database is still to be made.
  return table === 'project' && row.own_database !== null ? { unfinished: true } : {}
}
