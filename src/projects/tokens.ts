import { randomBytes } from 'node:crypto'
import type { Membership } from '../contract/token.ts'
import { readClock } from '../database/clock.ts'
import type { Queryable } from '../database/database.ts'
import type { Prisma } from '../database/generated/client.ts'
import { invalidRequest, notFound } from '../errors.ts'
import { hashToken } from './access.ts'
import { unlessOwnerDeleted } from './deleted-meanwhile.ts'

/** Makes a token recognisable, also to tools that look for leaked secrets. */
const PREFIX = 'wharf_'
const RANDOM_BYTES = 32

/** A token as it may be shown: without itself. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly memberships: readonly Membership[]
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
}

export interface NewToken {
  readonly name: string
  readonly memberships: readonly Membership[]
  readonly expiresAt: Date | null
}

/** 256 random bits, in the URL-safe alphabet, so that a token can stand in a DSN. */
export const generateToken = (): string => PREFIX + randomBytes(RANDOM_BYTES).toString('base64url')

/**
 * Creates a token. What is returned is the only copy: the table keeps its SHA-256.
 *
 * @throws {AppError} NOT_FOUND for an unknown project or role; INVALID_REQUEST for a date that has passed, or for two
 *   roles in one project.
 */
export async function createToken(
  control: Queryable,
  { name, memberships, expiresAt }: NewToken,
): Promise<{ readonly token: string; readonly record: Token }> {
  if (expiresAt && expiresAt <= (await readClock(control))) {
    throw invalidRequest('the token would have expired already', [
      { pointer: '/expiresAt', detail: 'must be in the future' },
    ])
  }
  assertOneRoleEach(memberships)
  const roles = await Promise.all(memberships.map((membership) => findRole(control, membership)))
  const token = generateToken()
  const created = control.token.create({
    data: {
      name,
      hash: hashToken(token),
      expiresAt,
      memberships: { create: roles.map(({ id, projectId }) => ({ projectId, roleId: id })) },
    },
    include: WITH_MEMBERSHIPS,
  })
  return { token, record: toToken(await unlessOwnerDeleted('a project or a role of the token', created)) }
}

function assertOneRoleEach(memberships: readonly Membership[]): void {
  const faults = memberships.flatMap(({ project }, index) =>
    memberships.findIndex((other) => other.project === project) < index
      ? [{ pointer: `/memberships/${index}/project`, detail: `project "${project}" is named twice` }]
      : [],
  )
  if (faults.length > 0) throw invalidRequest('a token has one role in each of its projects', faults)
}

/**
 * Tokens in the order in which they were made.
 *
 * @param page at most `limit` tokens, after the one with the id `after`; those of one project where it is named.
 */
export async function listTokens(
  control: Queryable,
  page: { readonly limit: number; readonly after?: string | undefined; readonly project?: string | undefined },
): Promise<readonly Token[]> {
  const rows = await control.token.findMany({
    where: page.project === undefined ? {} : { memberships: { some: { project: { slug: page.project } } } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: page.limit,
    ...(page.after !== undefined && { cursor: { id: page.after }, skip: 1 }),
    include: WITH_MEMBERSHIPS,
  })
  return rows.map(toToken)
}

/** @throws {AppError} NOT_FOUND */
export async function findToken(control: Queryable, id: string): Promise<Token> {
  const row = await control.token.findUnique({ where: { id }, include: WITH_MEMBERSHIPS })
  if (!row) throw notFound('token', id)
  return toToken(row)
}

/** Ends a token for good, from the next request on. Revoking it again changes nothing. @throws {AppError} NOT_FOUND */
export async function revokeToken(control: Queryable, id: string): Promise<void> {
  await findToken(control, id)
  const revokedAt = await readClock(control)
  await control.token.updateMany({ where: { id, revokedAt: null }, data: { revokedAt } })
}

async function findRole(
  control: Queryable,
  { project, role }: Membership,
): Promise<{ readonly id: string; readonly projectId: string }> {
  const found = await control.project.findUnique({
    where: { slug: project },
    include: { roles: { where: { name: role } } },
  })
  if (!found) throw notFound('project', project)
  const [match] = found.roles
  if (!match) throw notFound('role', role)
  return match
}

const WITH_MEMBERSHIPS = {
  memberships: {
    select: { project: { select: { slug: true } }, role: { select: { name: true } } },
    orderBy: { project: { slug: 'asc' } },
  },
} satisfies Prisma.TokenInclude

type TokenRow = Prisma.TokenGetPayload<{ include: typeof WITH_MEMBERSHIPS }>

const toToken = ({ id, name, createdAt, expiresAt, revokedAt, memberships }: TokenRow): Token => ({
  id,
  name,
  createdAt,
  expiresAt,
  revokedAt,
  memberships: memberships.map(({ project, role }) => ({ project: project.slug, role: role.name })),
})
