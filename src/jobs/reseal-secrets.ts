import type { Database } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { AppError } from '../errors.ts'
import { type Seal, SealBroken } from '../lib/seal.ts'
import type { Logger } from '../logger.ts'
import {
  attachedServerSubject,
  attachmentSubject,
  jobSubject,
  projectSubject,
  scheduleSubject,
  webhookSubject,
} from '../projects/sealed-subjects.ts'

/** How many values are read at a time. */
export const PAGE_ROWS = 200

/** Less than the id of any of their owners. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** A column of sealed values. */
interface SealedColumn {
  readonly table: 'project' | 'attachment' | 'attached_server' | 'job' | 'schedule' | 'webhook'
  readonly key: 'id' | 'project_id'
  readonly column: 'sealed_password' | 'sealed_address' | 'sealed_secrets'
  readonly subjectOf: (id: string) => string
}

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'project', key: 'id', column: 'sealed_password', subjectOf: projectSubject },
  { table: 'attachment', key: 'project_id', column: 'sealed_address', subjectOf: attachmentSubject },
  { table: 'attached_server', key: 'id', column: 'sealed_address', subjectOf: attachedServerSubject },
  { table: 'schedule', key: 'id', column: 'sealed_secrets', subjectOf: scheduleSubject },
  { table: 'job', key: 'id', column: 'sealed_secrets', subjectOf: jobSubject },
  { table: 'webhook', key: 'id', column: 'sealed_address', subjectOf: webhookSubject },
]

/**
 * Makes sure that the key opens every secret that is stored, and seals those again that were sealed with an earlier key,
 * or in an earlier form. Any number of processes may do so at once, and one that dies has done no harm: each value is
 * replaced only where it is still the one that was read.
 *
 * @param keySource where the current key is from: the name of a variable, or a path.
 * @throws {AppError} CONFIG_INVALID where a value does not open: the key is another one. Nothing can be lost by it.
 */
export async function resealSecrets(
  control: Database,
  seal: Seal,
  { logger, keySource }: { readonly logger: Logger; readonly keySource: string },
): Promise<void> {
  let resealed = 0
  try {
    for (const column of await columnsToReseal(control, seal)) resealed += await resealColumn(control, seal, column)
  } catch (error) {
    throw error instanceof WrongKey ? wrongKey(seal, keySource, error) : error
  }
  if (resealed > 0) logger.info({ resealed, keyId: seal.keyId }, 'stored secrets were sealed with the current key')
}

/** The columns that have a value of another key or form: one question, since each start asks it. */
async function columnsToReseal({ pool }: Database, { header }: Seal): Promise<readonly SealedColumn[]> {
  const questions = SEALED_COLUMNS.map(
    ({ table, column }, index) =>
      `SELECT ${index} AS index WHERE EXISTS (
         SELECT FROM control.${table} WHERE substring(${column} FROM 1 FOR $1::int) <> $2::bytea)`,
  )
  const { rows } = await pool.query<{ index: number }>(questions.join(' UNION ALL '), [header.length, header])
  const indices = new Set(rows.map(({ index }) => index))
  return SEALED_COLUMNS.filter((_, index) => indices.has(index))
}

/** @returns how many values it has replaced. */
async function resealColumn(
  { prisma }: Database,
  seal: Seal,
  { table, key, column, subjectOf }: SealedColumn,
): Promise<number> {
  const qualifiedTable = Prisma.raw(`control.${table}`)
  const id = Prisma.raw(key)
  const value = Prisma.raw(column)
  let replaced = 0
  for (let after = FIRST_ID; ; ) {
    const rows = await prisma.$queryRaw<{ id: string; sealed: Uint8Array }[]>`
      SELECT ${id} AS id, ${value} AS sealed FROM ${qualifiedTable}
       WHERE ${id} > ${after}::uuid AND ${value} IS NOT NULL
         AND substring(${value} FROM 1 FOR ${seal.header.length}::int) <> ${seal.header}
       ORDER BY ${id} LIMIT ${PAGE_ROWS}`
    for (const { id: owner, sealed } of rows) {
      const subject = subjectOf(owner)
      const again = seal.seal(unsealOrRefuse(seal, sealed, { table, subject }), subject)
      replaced += await prisma.$executeRaw`
        UPDATE ${qualifiedTable} SET ${value} = ${again} WHERE ${id} = ${owner}::uuid AND ${value} = ${sealed}`
    }
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_ROWS) return replaced
    after = last.id
  }
}

/** A value of this table opens with none of the keys. */
class WrongKey extends Error {
  override readonly name = 'WrongKey'
  readonly table: string
  readonly keyId: string | undefined

  constructor(table: string, cause: SealBroken) {
    super(`a secret of a ${table} does not open`, { cause })
    this.table = table
    this.keyId = cause.keyId
  }
}

function unsealOrRefuse(
  seal: Seal,
  sealed: Uint8Array,
  { table, subject }: { readonly table: string; readonly subject: string },
): string {
  try {
    return seal.unsealEarlier(sealed, subject)
  } catch (error) {
    if (error instanceof SealBroken) throw new WrongKey(table, error)
    throw error
  }
}

const wrongKey = (seal: Seal, keySource: string, cause: WrongKey): AppError =>
  new AppError('CONFIG_INVALID', 'the configuration is not usable', {
    faults: [
      {
        detail:
          `${keySource} is not the key with which the secrets of this database were encrypted: that of a ${cause.table} was ` +
          `encrypted with ${cause.keyId === undefined ? 'another one' : `the key ${cause.keyId}`}, and this one is ` +
          `${seal.keyId}. Set the right one in WHARF_SECRET_KEY, or name it in WHARF_SECRET_KEY_PREVIOUS to change to this one`,
      },
    ],
    cause,
  })
