import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 8

/** How a sealed value of this form begins, the last byte its version. Older ones begin with their nonce. */
const MAGIC = Buffer.from([0x77, 0x68, 0x73, 1])
const HEADER_BYTES = MAGIC.length + KEY_ID_BYTES

/** Thrown for a sealed value that none of the keys opens for its subject. */
export class SealBroken extends Error {
  override readonly name = 'SealBroken'
  /** The key that the value names, in hexadecimal digits; undefined for an older form, which names none. */
  readonly keyId: string | undefined

  constructor(keyId: string | undefined) {
    super(keyId === undefined ? 'no key opens this value' : `no key opens this value, which was sealed with ${keyId}`)
    this.keyId = keyId
  }
}

/** Keeps secret what has to be readable again. */
export interface Seal {
  /** How values begin that are sealed as `seal` does now: others can be sealed again. */
  readonly header: Uint8Array<ArrayBuffer>
  /** Names the key in logs and errors; it reveals nothing. Hexadecimal digits. */
  readonly keyId: string
  /**
   * @param subject what the text is the secret of, e.g. `project <id>`: the value opens for nothing else.
   * @returns header (magic, version, key id), nonce, authentication tag and ciphertext, in this order.
   */
  seal(text: string, subject: string): Uint8Array<ArrayBuffer>
  /** Opens also what an earlier key has sealed. @throws {SealBroken} also for the form without header and subject. */
  unseal(sealed: Uint8Array, subject: string): string
  /**
   * Opens also the form without header, subject and key id, which opens wherever it is put: only to be sealed again.
   *
   * @throws {SealBroken}
   */
  unsealEarlier(sealed: Uint8Array, subject: string): string
}

interface Key {
  readonly bytes: Uint8Array
  readonly id: Buffer
}

const deriveKey = (secret: string): Key => ({
  bytes: new Uint8Array(hkdfSync('sha256', secret, '', 'wharf seal', 32)),
  id: Buffer.from(hkdfSync('sha256', secret, '', 'wharf seal key id', KEY_ID_BYTES)),
})

/**
 * Authenticated encryption (AES-256-GCM) with keys derived from secrets (HKDF, RFC 5869).
 *
 * @param secret any text with enough entropy, e.g. WHARF_SECRET_KEY; all values are sealed with it.
 * @param previous other secrets, whose values can still be opened.
 */
export function createSeal(secret: string, previous: readonly string[] = []): Seal {
  const current = deriveKey(secret)
  const keys = [current, ...previous.map(deriveKey)]
  const header = Buffer.concat([MAGIC, current.id])

  /** @returns undefined where no key opens it for this subject. */
  const openHeaded = (bytes: Buffer, subject: string): string | undefined => {
    if (!isHeaded(bytes)) return undefined
    const found = bytes.subarray(0, HEADER_BYTES)
    const named = keys.filter(({ id }) => id.equals(found.subarray(MAGIC.length)))
    return openWithAny(named, bytes.subarray(HEADER_BYTES), associatedData(found, subject))
  }
  return {
    header: new Uint8Array(header),
    keyId: current.id.toString('hex'),
    seal(text, subject) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, current.bytes, nonce).setAAD(associatedData(header, subject))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return new Uint8Array(Buffer.concat([header, nonce, cipher.getAuthTag(), ciphertext]))
    },
    unseal(sealed, subject) {
      const bytes = Buffer.from(sealed)
      const text = openHeaded(bytes, subject)
      if (text === undefined) throw sealBroken(bytes)
      return text
    },
    unsealEarlier(sealed, subject) {
      const bytes = Buffer.from(sealed)
      // A nonce that begins as the header does is possible, if unlikely.
      const text = openHeaded(bytes, subject) ?? openWithAny(keys, bytes, undefined)
      if (text === undefined) throw sealBroken(bytes)
      return text
    },
  }
}

const isHeaded = (bytes: Buffer): boolean => bytes.subarray(0, MAGIC.length).equals(MAGIC)

const sealBroken = (bytes: Buffer): SealBroken =>
  new SealBroken(isHeaded(bytes) ? bytes.subarray(MAGIC.length, HEADER_BYTES).toString('hex') : undefined)

function openWithAny(keys: readonly Key[], sealed: Buffer, associated: Uint8Array | undefined): string | undefined {
  for (const key of keys) {
    const text = open(key, sealed, associated)
    if (text !== undefined) return text
  }
  return undefined
}

const associatedData = (header: Uint8Array, subject: string): Buffer => Buffer.concat([header, Buffer.from(subject)])

/** @returns undefined where the key is another one, or the bytes or the associated data were changed. */
function open(key: Key, sealed: Uint8Array, associated: Uint8Array | undefined): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(ALGORITHM, key.bytes, sealed.subarray(0, NONCE_BYTES))
  if (associated) decipher.setAAD(associated)
  decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const text = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    // The only thing that `final` throws for: the tag is not the one of these bytes under this key.
    return undefined
  }
}
