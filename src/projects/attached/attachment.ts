import { z } from 'zod'
import type { Queryable } from '../../database/database.ts'
import { notFound } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import { attachmentSubject } from '../sealed-subjects.ts'

/** What is sealed of an attachment. */
const sealedSchema = z.object({
  /** With its password. */
  address: z.string(),
  /** Whether its host has to be in the list of those that may be reached, at each connection. */
  isListed: z.boolean(),
  /** Whether the address lets the server choose to encrypt connections or not, and it chose the second kind of these. */
  isSecondChoice: z.boolean(),
  /** Tells databases apart, whatever their addresses; null where the server did not say. */
  identity: z.string().nullable(),
})

export type AttachedAddress = Readonly<z.output<typeof sealedSchema>>

/** Where the stages of an attached project are. */
export interface Attachment extends AttachedAddress {
  readonly projectId: string
  /** The address without password and parameters. */
  readonly name: string
  readonly login: string
  readonly changedAt: Date
}

/** The columns of a record that say how a database is reached. */
export const toAttachmentData = (
  seal: Seal,
  projectId: string,
  { name, login, ...address }: AttachedAddress & Pick<Attachment, 'name' | 'login'>,
) => ({ name, login, sealedAddress: seal.seal(JSON.stringify(address), attachmentSubject(projectId)) })

interface AttachmentRow extends Omit<Attachment, keyof AttachedAddress> {
  readonly sealedAddress: Uint8Array
}

/** Opens what is sealed of a record. */
export function toAttachment(seal: Seal, { sealedAddress, ...row }: AttachmentRow): Attachment {
  const text = seal.unseal(sealedAddress, attachmentSubject(row.projectId))
  return { ...row, ...sealedSchema.parse(JSON.parse(text)) }
}

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
  const row = await control.attachment.findUnique({ where: { projectId: project.id } })
  if (!row) throw notFound('attached project', project.slug)
  return toAttachment(seal, row)
}
