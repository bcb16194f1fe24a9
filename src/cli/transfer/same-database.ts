import { attachmentSchema } from '../../contract/attachment.ts'
import type { Database } from '../../database/database.ts'
import { newLockKey, SEEN_LOCK_SQL } from '../../database/seen-lock.ts'
import { type AppError, isAppError, wrongUse } from '../../errors.ts'
import { isLoopback } from '../../transfer/remote/target.ts'
import { encodedPath } from '../http.ts'
import { get } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'
import type { NamedStage } from '../usual-stages.ts'
import type { Endpoint } from './endpoint.ts'

/** Where the stages of one side of a transfer are, which is a database that is not Wharf's. */
export interface StageLocation {
  /** Its address, without password and parameters. */
  readonly name: string
  readonly stages: readonly NamedStage[]
  /** Where this command is connected to it itself. */
  readonly database?: Database
  /** From where its address is looked at: this machine, or the host of a server. */
  readonly seenFrom: string
}

const HERE = 'this machine'

/** The location of stages in a database that a command is connected to. */
export const directLocation = (
  location: Pick<Required<StageLocation>, 'name' | 'stages' | 'database'>,
): StageLocation => ({
  ...location,
  seenFrom: HERE,
})

/** @returns undefined where the project is not attached, or the token may not see to what. */
export async function locationOf({ server, project }: Endpoint): Promise<StageLocation | undefined> {
  const { hostname } = new URL(server.http.origin)
  try {
    const { name, stages } = await get(server.http, encodedPath`/projects/${project}/attachment`, attachmentSchema)
    return { name, stages, seenFrom: isLoopback(hostname) ? HERE : hostname }
  } catch (error) {
    // What a transfer needs of it is found out by the transfer.
    if (isAppError(error)) return undefined
    throw error
  }
}

/**
 * Makes sure that no stage would be replaced by itself: the import would wait for the export, which waits for the import.
 *
 * @param slugs of the stages that are transferred; undefined for all.
 * @throws {AppError} WRONG_USE
 */
export async function assertNotItself(
  from: StageLocation | undefined,
  to: StageLocation | undefined,
  slugs: readonly string[] | undefined,
): Promise<void> {
  if (!from || !to) return
  const coming = from.stages.filter(({ slug }) => slugs?.includes(slug) ?? true)
  const replaced = to.stages.filter(({ slug }) => coming.some((stage) => stage.slug === slug))
  const both = replaced.find(({ schema }) => coming.some((stage) => stage.schema === schema))
  if (both && (await isSameDatabase(from, to))) throw sameSchema(to.name, both.schema)
}

const sameSchema = (name: string, schema: string): AppError =>
  wrongUse(printable(`source and target are the same: the schema "${schema}" of ${name}`))

async function isSameDatabase(from: StageLocation, to: StageLocation): Promise<boolean> {
  if (from.database && to.database) return seesLockOf(from.database, to.database)
  const [a, b] = [new URL(from.name), new URL(to.name)]
  const isOneHost =
    isLoopback(a.hostname) && isLoopback(b.hostname) ? from.seenFrom === to.seenFrom : a.hostname === b.hostname
  return isOneHost && a.port === b.port && a.pathname === b.pathname
}

async function seesLockOf({ pool }: Database, { pool: other }: Database): Promise<boolean> {
  const key = newLockKey()
  const client = await pool.connect()
  try {
    await client.query('SELECT pg_catalog.pg_advisory_lock($1::bigint)', [key])
    const { rows } = await other.query<{ seen: boolean }>(SEEN_LOCK_SQL, [key])
    return rows[0]?.seen ?? false
  } finally {
    await client.query('SELECT pg_catalog.pg_advisory_unlock($1::bigint)', [key])
    client.release()
  }
}
