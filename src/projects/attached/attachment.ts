import { z } from 'zod'
import type { Queryable } from '../../database/database.ts'
import { notFound } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import { attachedServerSubject, attachmentSubject } from '../sealed-subjects.ts'

/** How a database is reached, as it is sealed of a server, and of a database that has an address of its own. */
export const sealedAddressSchema = z.object({
  /** With its password. */
  address: z.string(),
  /** Whether its host has to be in the list of those that may be reached, at each connection. */
  isListed: z.boolean(),
  /** Whether the address lets the server choose to encrypt connections or not, and it chose the second kind of these. */
  isSecondChoice: z.boolean(),
})

/** The same of a server, with the database in which the others are looked for. */
const serverAddressSchema = sealedAddressSchema.extend({ database: z.string() })

/** What is sealed of every attachment. */
const identitySchema = z.object({
  /** Tells databases apart, whatever their addresses; null where the server did not say. */
  identity: z.string().nullable(),
})

const sealedSchema = sealedAddressSchema.extend(identitySchema.shape)

export interface ReachedAddress extends Readonly<z.output<typeof sealedAddressSchema>> {
  /** The database that is meant, where it is not the one that the address names. */
  readonly database?: string | undefined
}

export type ServerAddress = Readonly<z.output<typeof serverAddressSchema>>

export type AttachedAddress = Readonly<z.output<typeof sealedSchema>>

/** Where the stages of an attached project are. */
export interface Attachment extends ReachedAddress {
  readonly projectId: string
  /** The address without password and parameters. */
  readonly name: string
  readonly login: string
  readonly changedAt: Date
  /** @see identitySchema */
  readonly identity: string | null
  /** The server whose address it has, by its name; undefined where it has one of its own. */
  readonly server: string | undefined
}

/** The columns of a record that say how a database is reached. */
export const toAttachmentData = (
  seal: Seal,
  projectId: string,
  { name, login, ...address }: AttachedAddress & Pick<Attachment, 'name' | 'login'>,
) => ({ name, login, sealedAddress: seal.seal(JSON.stringify(address), attachmentSubject(projectId)) })

/** The same of a database that is reached by the address of its server. */
export const toServerAttachmentData = (
  seal: Seal,
  projectId: string,
  {
    identity,
    ...columns
  }: Pick<Attachment, 'name' | 'login' | 'identity'> & {
    readonly serverId: string
    readonly database: string
  },
) => ({ ...columns, sealedAddress: seal.seal(JSON.stringify({ identity }), attachmentSubject(projectId)) })

interface SealedRow {
  readonly projectId: string
  readonly sealedAddress: Uint8Array
}

const unsealed = (seal: Seal, { projectId, sealedAddress }: SealedRow): unknown =>
  JSON.parse(seal.unseal(sealedAddress, attachmentSubject(projectId)))

/** What tells the database of a record from all others; null where that is not known. */
export const identityOf = (seal: Seal, row: SealedRow): string | null =>
  identitySchema.parse(unsealed(seal, row)).identity

/**
 * Where an attached project's stages are.
 *
 * @throws {AppError} NOT_FOUND where the project was detached since it was found, or is none.
 */
export async function readAttachment(
  control: Queryable,
  seal: Seal,
  project: { readonly id: string; readonly slug: string },
): Promise<Attachment> {
  const row = await control.attachment.findUnique({ where: { projectId: project.id }, include: { server: true } })
  if (!row) throw notFound('attached project', project.slug)
  const { projectId, name, login, changedAt, server, database } = row
  if (server && database !== null) {
    const address = openServerAddress(seal, server)
    const identity = identityOf(seal, row)
    // Where the server was given another address, its databases were.
    const latest = server.changedAt > changedAt ? server.changedAt : changedAt
    return { projectId, name, login, changedAt: latest, ...address, database, identity, server: server.name }
  }
  return { projectId, name, login, changedAt, ...sealedSchema.parse(unsealed(seal, row)), server: undefined }
}

/** Opens what is sealed of a server. */
export const openServerAddress = (
  seal: Seal,
  { id, sealedAddress }: { readonly id: string; readonly sealedAddress: Uint8Array },
): ServerAddress => serverAddressSchema.parse(JSON.parse(seal.unseal(sealedAddress, attachedServerSubject(id))))
