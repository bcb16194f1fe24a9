import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Keeps secret what has to be readable again. */
export interface Seal {
  /** @returns nonce, authentication tag and ciphertext, in this order. */
  seal(text: string): Uint8Array<ArrayBuffer>
  /** @throws {Error} where the key is another one, or the bytes were changed. */
  unseal(sealed: Uint8Array): string
}

/**
 * Authenticated encryption (AES-256-GCM) with a key derived from a secret (HKDF, RFC 5869).
 *
 * @param secret any text with enough entropy, e.g. WHARF_SECRET_KEY.
 */
export function createSeal(secret: string): Seal {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'wharf seal', 32))
  return {
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, nonce)
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]))
    },
    unseal(sealed) {
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
      return text.toString('utf8')
    },
  }
}
