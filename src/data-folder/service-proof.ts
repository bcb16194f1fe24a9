import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { readOrCreateSecret } from './secrets.ts'

/** The file of the data folder with the secret that a service proves to know. */
const PROOF_SECRET_FILE = 'proof-secret'
const CONTEXT = 'wharf service proof 1'

/** 32 random bytes in base64url. */
export const CHALLENGE_PATTERN = /^[\w-]{43}$/

/** The path of the secret's file. */
export const proofSecretPath = (dataDir: string): string => join(dataDir, PROOF_SECRET_FILE)

/** What an answer is bound to, so that no other server can pass on a question and its answer. */
export interface ProofBinding {
  /** The server's end of the connection, IPv4 in four numbers. */
  readonly address: string
  readonly port: number
  readonly pid: number
}

/** Answers a challenge for one process on one address. */
export type Prover = (challenge: string, binding: ProofBinding) => string

/**
 * Makes what proves, to a command line that can read the data folder, that a server can read it too.
 *
 * @param secret what `proofSecretPath` has.
 * @returns HMAC-SHA-256 in base64url, with a key derived from the secret (HKDF, RFC 5869).
 */
export function createProver(secret: string): Prover {
  const key = Buffer.from(hkdfSync('sha256', secret, '', CONTEXT, 32))
  return (challenge, { address, port, pid }) =>
    createHmac('sha256', key).update(`${challenge} ${address} ${port} ${pid}`).digest('base64url')
}

/** The secret of a data folder, which is made where it has none. */
export const readProofSecret = (dataDir: string): Promise<string> => readOrCreateSecret(dataDir, PROOF_SECRET_FILE)

/** Whether an answer is the one that was expected, in a time that says nothing about it. */
export function isProof(answer: string | undefined, expected: string): boolean {
  const [given, right] = [Buffer.from(answer ?? ''), Buffer.from(expected)]
  return given.length === right.length && timingSafeEqual(given, right)
}
