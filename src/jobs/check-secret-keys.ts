import type { FoundKeys } from '../data-folder/secrets.ts'
import type { Database } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { AppError } from '../errors.ts'
import { createSeal, type Seal, SealBroken } from '../lib/seal.ts'
import { formatCounted } from '../lib/units.ts'
import { FIRST_ID, PAGE_ROWS, SEALED_COLUMNS } from './reseal-secrets.ts'

type Control = Pick<Database, 'prisma'>

/** How many secrets are stored, and what is wrong with the keys, if anything, with what to do. */
export interface CheckedKeys {
  readonly read: number
  readonly fault: string | undefined
}

/** Tries keys on every secret that is stored, and changes nothing. */
export async function checkSecretKeys(control: Control, keys: FoundKeys): Promise<CheckedKeys> {
  const { read, broken } = await countBroken(control, createSeal(keys.current ?? '', keys.previous))
  return { read, fault: broken === 0 ? undefined : faultOf(keys, { read, broken }) }
}

/** @throws {AppError} CONFIG_INVALID where a stored secret opens with none of the keys. */
export async function assertOpensSecrets(control: Control, keys: FoundKeys): Promise<void> {
  const { fault } = await checkSecretKeys(control, keys)
  if (fault === undefined) return
  throw new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults: [{ detail: fault }] })
}

interface Counts {
  readonly read: number
  readonly broken: number
}

function faultOf({ current, source }: FoundKeys, { read, broken }: Counts): string {
  if (current === undefined) {
    return (
      `there is no secret key, and ${formatCounted(read, 'stored secret')}: set WHARF_SECRET_KEY to the key with which they ` +
      `were encrypted, or put the file ${source} back`
    )
  }
  return (
    `${source} does not open ${broken} of ${formatCounted(read, 'stored secret')}: set the key with which they were ` +
    'encrypted, or name it in WHARF_SECRET_KEY_PREVIOUS as well'
  )
}

async function countBroken({ prisma }: Control, seal: Seal): Promise<Counts> {
  const counts = { read: 0, broken: 0 }
  for (const { table, key, column, subjectOf } of SEALED_COLUMNS) {
    const [id, value] = [Prisma.raw(key), Prisma.raw(column)]
    for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
      const rows: { id: string; sealed: Uint8Array }[] = await prisma.$queryRaw`
        SELECT ${id} AS id, ${value} AS sealed FROM ${Prisma.raw(`control.${table}`)}
         WHERE ${id} > ${after}::uuid AND ${value} IS NOT NULL ORDER BY ${id} LIMIT ${PAGE_ROWS}`
      counts.read += rows.length
      counts.broken += rows.filter(({ id: owner, sealed }) => !opens(seal, sealed, subjectOf(owner))).length
      after = rows.length < PAGE_ROWS ? undefined : rows.at(-1)?.id
    }
  }
  return counts
}

function opens(seal: Seal, sealed: Uint8Array, subject: string): boolean {
  try {
    seal.unsealEarlier(sealed, subject)
    return true
  } catch (error) {
    if (error instanceof SealBroken) return false
    throw error
  }
}
