import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

const ITERATIONS = 4096
const KEY_BYTES = 32

/**
 * What PostgreSQL stores for a password. Given to CREATE ROLE in its place, the password itself appears in no
 * statement, and so in no server log.
 *
 * @param password ASCII only, so that SASLprep leaves it as it is.
 * @see RFC 5803 for the form, RFC 5802 section 3 for the keys.
 */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  const storedKey = createHash('sha256').update(clientKey).digest('base64')
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
