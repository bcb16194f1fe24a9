import { z } from 'zod'
import type { Seal } from '../lib/seal.ts'

/** The secrets of a request, by name, which a record only holds sealed. */
export type Secrets = Readonly<Record<string, string>>

const secretsSchema = z.record(z.string(), z.string())

/** @param subject what they are the secrets of. @returns null where there are none. */
export const sealSecrets = (seal: Seal, secrets: Secrets, subject: string): Uint8Array<ArrayBuffer> | null =>
  Object.keys(secrets).length > 0 ? seal.seal(JSON.stringify(secrets), subject) : null

/** Opens what `sealSecrets` has sealed for the same subject. */
export const unsealSecrets = (seal: Seal, sealed: Uint8Array | null | undefined, subject: string): Secrets =>
  sealed ? secretsSchema.parse(JSON.parse(seal.unseal(sealed, subject))) : {}
