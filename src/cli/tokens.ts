import { type AppError, wrongUse } from '../errors.ts'
import { parseServerTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { parseExpiry } from './expiry.ts'
import { projectOf, type Server, withServer } from './server.ts'
import { createToken, getToken, listTokens, type Membership, revokeToken, type Token } from './server-api.ts'
import { assertCanConfirm, type Confirmation, confirm } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

interface TokenOptions extends ResultOptions {
  readonly server?: string
}

export interface TokenCreateOptions extends TokenOptions {
  readonly project?: readonly string[]
  readonly role: readonly string[]
  readonly name: string
  readonly expires?: string
}

export interface TokenListOptions extends TokenOptions {
  readonly project?: string
}

export interface TokenRevokeOptions extends TokenOptions, Confirmation {}

/** As PostgreSQL writes a UUID. */
const TOKEN_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const HEADINGS = ['id', 'name', 'for', 'created', 'expires', 'state']

/** `token:create`: standard output gets the token alone, so that a script can take it. */
export async function runTokenCreate(
  context: CommandContext,
  { project: projects = [], role: roles, name, expires, server, ...options }: TokenCreateOptions,
): Promise<number> {
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires, new Date()).toISOString()
  const created = await withServer(context, parseServerTarget(server), (opened) => {
    const memberships = pairUp(projects.length === 0 ? [projectOf(undefined, opened)] : projects, roles)
    return createToken(opened.http, { name, memberships, ...(expiresAt !== undefined && { expiresAt }) })
  })
  await printResult(context.environment, options, { json: created, text: () => printable(created.token) })
  return EXIT.done
}

/** `token:list` */
export async function runTokenList(
  context: CommandContext,
  { project, server, ...options }: TokenListOptions,
): Promise<number> {
  const tokens = await withServer(context, parseServerTarget(server), ({ http }: Server) => listTokens(http, project))
  const now = new Date()
  await printResult(context.environment, options, {
    json: { tokens },
    text: (style) =>
      tokens.length === 0
        ? 'there are no tokens'
        : formatTable(
            HEADINGS,
            tokens.map((token) => toCells(token, now)),
            style,
          ),
  })
  return EXIT.done
}

/** `token:revoke` */
export async function runTokenRevoke(
  context: CommandContext,
  id: string,
  { server, ...options }: TokenRevokeOptions,
): Promise<number> {
  if (!TOKEN_ID.test(id)) throw notAnId()
  assertCanConfirm(context, options)
  return withServer(context, parseServerTarget(server), async ({ http, place }) => {
    const { name, memberships } = await getToken(http, id)
    const consequence = `this ends token "${printable(name)}" (${formatMemberships(memberships)})${place} for good`
    if (!(await confirm(context, consequence, options))) return EXIT.failed
    await revokeToken(http, id)
    await printResult(context.environment, options, {
      json: { revoked: { id, name } },
      text: () => `revoked token ${id}`,
    })
    return EXIT.done
  })
}

/** Does not quote what was given, which may be the token itself. */
const notAnId = (): AppError =>
  wrongUse(
    'this is not the id of a token: expected one as "token:list" shows it, like 0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11',
  )

/** The first role is for the first project, and so on. */
function pairUp(projects: readonly string[], roles: readonly string[]): Membership[] {
  if (projects.length !== roles.length) {
    throw wrongUse(`there are ${projects.length} projects and ${roles.length} roles: give each --project its --role`)
  }
  return projects.map((project, index) => ({ project, role: roles[index] ?? '' }))
}

const toCells = (token: Token, now: Date): string[] => [
  token.id,
  token.name,
  formatMemberships(token.memberships),
  token.createdAt,
  token.expiresAt ?? 'never',
  stateOf(token, now),
]

function stateOf({ revokedAt, expiresAt }: Token, now: Date): string {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && new Date(expiresAt) <= now ? 'expired' : 'usable'
}

const formatMemberships = (memberships: readonly Membership[]): string =>
  memberships.map(({ project, role }) => printable(`${role} of ${project}`)).join(', ')
