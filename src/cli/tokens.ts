import { createdTokenSchema, type Membership, type Token, tokenSchema } from '../contract/token.ts'
import { type AppError, wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { parseExpiry } from './expiry.ts'
import { encodedPath } from './http.ts'
import { onServer, projectOf, type ServerOptions } from './server.ts'
import { get, listAll, remove, send } from './server-api.ts'
import { assertCanConfirm, type Confirmation } from './terminal/confirm.ts'
import { printable } from './terminal/printable.ts'
import { onceConfirmed, printResult } from './terminal/result.ts'
import { formatTable } from './terminal/table.ts'

interface TokenCreateOptions extends ServerOptions {
  readonly project?: readonly string[]
  readonly role: readonly string[]
  readonly name: string
  readonly expires?: string
}

/** As PostgreSQL writes a UUID. */
const TOKEN_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const HEADINGS = ['id', 'name', 'for', 'created', 'expires', 'state']

/** `token:create`: standard output gets the token alone, so that a script can take it. */
export async function runTokenCreate(context: CommandContext, options: TokenCreateOptions): Promise<number> {
  const { name, role: roles, project: projects = [], expires } = options
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires, new Date()).toISOString()
  const created = await onServer(context, options, (server) => {
    const memberships = pairUp(projects.length === 0 ? [projectOf(undefined, server)] : projects, roles)
    const body = { name, memberships, expiresAt }
    return send(server.http, { method: 'POST', path: '/tokens', body }, createdTokenSchema)
  })
  return printResult(context, options, { json: created, text: () => printable(created.token) })
}

/** `token:list` */
export async function runTokenList(
  context: CommandContext,
  options: ServerOptions & { readonly project?: string },
): Promise<number> {
  const tokens = await onServer(context, options, ({ http }) =>
    listAll(http, { path: '/tokens', item: tokenSchema, query: { project: options.project } }),
  )
  const now = new Date()
  return printResult(context, options, {
    json: { tokens },
    text: (style) => {
      const rows = tokens.map((token) => toCells(token, now))
      return rows.length === 0 ? 'there are no tokens' : formatTable(HEADINGS, rows, style)
    },
  })
}

/** `token:revoke` */
export async function runTokenRevoke(
  context: CommandContext,
  id: string,
  options: ServerOptions & Confirmation,
): Promise<number> {
  if (!TOKEN_ID.test(id)) throw notAnId()
  assertCanConfirm(context, options)
  return onServer(context, options, async ({ http, location }) => {
    const path = encodedPath`/tokens/${id}`
    const { name, memberships } = await get(http, path, tokenSchema)
    const consequence = `this ends token "${printable(name)}" (${formatMemberships(memberships)})${location} for good`
    return onceConfirmed(context, consequence, options, async () => {
      await remove(http, path)
      return { json: { revoked: { id, name } }, text: () => `revoked token ${id}` }
    })
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
