import { createHash, timingSafeEqual } from 'node:crypto'
import type { Role } from '../contract/role.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'
import { unauthenticated } from '../errors.ts'
import { type RoleRow, toRole } from './roles.ts'
import { assertValid, isValid, TOKEN_STATE, type TokenState, tokenNeeded } from './token-validity.ts'

/** Who is calling: the root token may do everything; any other token has a role in each of its projects. */
export type Caller =
  | { readonly kind: 'root' }
  | {
      readonly kind: 'token'
      readonly tokenId: string
      readonly tokenName: string
      /** The token's role in each of its projects, by the project's slug. */
      readonly roles: ReadonlyMap<string, Role>
    }

/** How long a transaction that keeps rights as they are waits for each lock that it takes. */
const LOCK_TIMEOUT = '5s'

/** The root token. */
export const ROOT: Caller = { kind: 'root' }

/** The id of the caller's token; null for the root token, which stands in no table. */
export const tokenIdOf = (caller: Caller): string | null => (caller.kind === 'root' ? null : caller.tokenId)

export const hashToken = (token: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(token).digest())

/**
 * Finds out who has a token.
 *
 * @param rootTokenHash SHA-256 of the root token, which stands in no table.
 * @throws {AppError} UNAUTHENTICATED where there is no token, or it is unknown, expired or revoked.
 */
export async function authenticate(
  control: Queryable,
  rootTokenHash: Uint8Array,
  token: string | undefined,
): Promise<Caller> {
  if (token === undefined) throw tokenNeeded()
  const hash = hashToken(token)
  if (timingSafeEqual(hash, rootTokenHash)) return ROOT
  const row = await findToken(control, Prisma.sql`token.hash = ${hash}`)
  assertValid(row)
  return toCaller(row)
}

/**
 * Looks up a token's rights again, for work that goes on after its request.
 *
 * @param tokenId null for the root token.
 * @returns undefined where it has been revoked, has expired or is not there any more.
 */
export async function findCaller(control: Queryable, tokenId: string | null): Promise<Caller | undefined> {
  if (tokenId === null) return ROOT
  const row = await findToken(control, Prisma.sql`token.id = ${tokenId}::uuid`)
  return row && isValid(row) ? toCaller(row) : undefined
}

/**
 * Looks again who a caller is, at a later moment of the same request.
 *
 * @throws {AppError} UNAUTHENTICATED where the token has been revoked or has expired since.
 */
export async function findCallerAgain(control: Queryable, caller: Caller): Promise<Caller> {
  const now = await findCaller(control, tokenIdOf(caller))
  if (!now) throw unauthenticated('the token has been revoked or has expired in the meantime')
  return now
}

/**
 * The same in the transaction that makes visible what the caller asked for: what was found stays as it is until that
 * ends.
 *
 * @param projects slugs.
 * @throws {AppError} UNAUTHENTICATED where the token has been revoked or has expired since.
 */
export async function lockCaller(tx: Transaction, caller: Caller, projects: readonly string[]): Promise<Caller> {
  await lockRights(tx, tokenIdOf(caller), projects)
  return findCallerAgain(tx, caller)
}

/**
 * Keeps a token, and its roles in some projects, as they are until the transaction ends: revoking it waits until then,
 * so that nothing is committed in its name once it is known to be revoked. Whatever the transaction waits for after this,
 * it waits for a few seconds only: a project's own session must not be able to put the revoking off.
 *
 * @param tokenId null for the root token, which cannot be revoked.
 * @param projects slugs.
 */
export async function lockRights(tx: Transaction, tokenId: string | null, projects: readonly string[]): Promise<void> {
  if (tokenId === null) return
  await tx.$queryRaw`SELECT 1 FROM control.token WHERE id = ${tokenId}::uuid FOR SHARE`
  await tx.$queryRaw`
    SELECT 1 FROM control.membership
      JOIN control.project ON project.id = membership.project_id
      JOIN control.role ON role.id = membership.role_id
     WHERE membership.token_id = ${tokenId}::uuid AND project.slug = ANY (${[...projects]})
     ORDER BY role.id FOR SHARE OF membership, role`
  await tx.$queryRaw`SELECT pg_catalog.set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`
}

const toCaller = ({ id, name, roles }: TokenRow): Caller => ({
  kind: 'token',
  tokenId: id,
  tokenName: name,
  roles: new Map(roles.map((role) => [role.project, toRole(role)])),
})

async function findToken(control: Queryable, condition: Prisma.Sql): Promise<TokenRow | undefined> {
  const [row] = await control.$queryRaw<TokenRow[]>`
    SELECT token.id, token.name,
           ${Prisma.raw(TOKEN_STATE)},
           (SELECT coalesce(jsonb_agg(jsonb_build_object(
                     'project', project.slug, 'name', role.name,
                     'contentRead', role.content_read, 'contentWrite', role.content_write,
                     'contentExport', role.content_export, 'contentImport', role.content_import,
                     'contentStructure', role.content_structure,
                     'systemExport', role.system_export, 'systemImport', role.system_import)), '[]')
            FROM control.membership
            JOIN control.project ON project.id = membership.project_id
            JOIN control.role ON role.id = membership.role_id
            WHERE membership.token_id = token.id) AS roles
    FROM control.token
    WHERE ${condition}`
  return row
}

interface TokenRow extends TokenState {
  readonly id: string
  readonly name: string
  readonly roles: readonly (RoleRow & { readonly project: string })[]
}
