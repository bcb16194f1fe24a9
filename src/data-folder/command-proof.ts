import { createHmac, hkdfSync } from 'node:crypto'
import { isProof } from './service-proof.ts'

const CONTEXT = 'wharf command proof 1'

/**
 * Proves, to the service of a data folder, that a command can read that folder's secrets, so that it is its operator's:
 * who reads them could set whatever the service is started with. What it proves this for is part of it.
 *
 * @param secret what `proofSecretPath` has. The key that is derived from it is another one than that of `createProver`,
 *   which answers whatever anybody asks.
 * @param subject what the operator asks for, e.g. the address of a database.
 * @returns HMAC-SHA-256 in base64url.
 */
export function proveCommand(secret: string, subject: string): string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', CONTEXT, 32))
  return createHmac('sha256', key).update(subject).digest('base64url')
}

/** Whether a proof is that of a command that can read the data folder, for this subject. */
export const isCommandProof = (proof: string | undefined, secret: string, subject: string): boolean =>
  isProof(proof, proveCommand(secret, subject))
