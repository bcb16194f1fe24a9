import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '../errors.ts'

/** How a sealed stream begins; its last digit is the version of the form, with all of its parameters. */
const MAGIC = Buffer.from('WHARF-BACKUP 1\n')
const SALT_BYTES = 32
const KEY_CHECK_BYTES = 16
const HEADER_BYTES = MAGIC.length + SALT_BYTES + KEY_CHECK_BYTES

const ALGORITHM = 'aes-256-gcm'
const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const NONCE_BYTES = 12

/** Of a strength that OWASP recommends for passwords (2024), in 32 MiB of memory: workers derive keys, too. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 }

const deriveSecret = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt)

interface Keys {
  readonly key: Uint8Array
  /** By which another passphrase is told from damaged bytes. */
  readonly check: Buffer
}

async function deriveKeys(passphrase: string, salt: Buffer): Promise<Keys> {
  const secret = await deriveSecret(passphrase.normalize('NFC'), salt, 32, SCRYPT)
  const derive = (purpose: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, bytes))
  return { key: derive('wharf backup', 32), check: derive('wharf backup key check', KEY_CHECK_BYTES) }
}

/** Each stream has a key of its own, so that chunks may be counted from 0; the last one says that it is. */
function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUIntBE(index, 5, 6)
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0
  return nonce
}

/**
 * Encrypts bytes with a passphrase (scrypt, AES-256-GCM in chunks of 64 KiB). Chunks cannot be changed, left out or put in
 * another order, and the end cannot be cut off, without `openSealed` noticing.
 *
 * @yields header (magic, salt, key check), then each chunk with its tag.
 */
export async function* sealStream(bytes: AsyncIterable<Buffer>, passphrase: string): AsyncGenerator<Buffer> {
  const salt = randomBytes(SALT_BYTES)
  const { key, check } = await deriveKeys(passphrase, salt)
  const header = Buffer.concat([MAGIC, salt, check])
  yield header
  for await (const { block, index, isLast } of blocksOf(bytes, CHUNK_BYTES)) {
    const cipher = createCipheriv(ALGORITHM, key, nonceOf(index, isLast)).setAAD(header)
    yield Buffer.concat([cipher.update(block), cipher.final(), cipher.getAuthTag()])
  }
}

/**
 * Decrypts what `sealStream` has made. What was yielded before an error is authentic, but not all.
 *
 * @throws {AppError} BACKUP_INVALID where the bytes are none of its, were changed or cut off, or the passphrase is another.
 */
export async function* openSealed(bytes: AsyncIterable<Buffer>, passphrase: string): AsyncGenerator<Buffer> {
  const source = bytes[Symbol.asyncIterator]()
  try {
    const { header, rest } = await readHeader(source)
    const { key, check } = await deriveKeys(passphrase, header.subarray(MAGIC.length, MAGIC.length + SALT_BYTES))
    if (!timingSafeEqual(check, header.subarray(MAGIC.length + SALT_BYTES))) throw backupInvalid(WRONG_KEY)
    for await (const { block, index, isLast } of blocksOf(beginningWith(rest, source), CHUNK_BYTES + TAG_BYTES)) {
      yield openChunk(key, header, { block, index, isLast })
    }
  } finally {
    await source.return?.()
  }
}

const WRONG_KEY = 'the backup was made with another key than this one'

export const backupInvalid = (message: string): AppError => new AppError('BACKUP_INVALID', message)

function openChunk(key: Uint8Array, header: Buffer, { block, index, isLast }: Block): Buffer {
  try {
    const end = Math.max(0, block.length - TAG_BYTES)
    const decipher = createDecipheriv(ALGORITHM, key, nonceOf(index, isLast), { authTagLength: TAG_BYTES })
    decipher.setAAD(header).setAuthTag(block.subarray(end))
    return Buffer.concat([decipher.update(block.subarray(0, end)), decipher.final()])
  } catch {
    // Bytes that were changed, a chunk that stands elsewhere, or an end that is not the end.
    throw backupInvalid('the backup is damaged: bytes of it were changed, or its end is missing')
  }
}

async function readHeader(source: AsyncIterator<Buffer>): Promise<{ readonly header: Buffer; readonly rest: Buffer }> {
  let read = Buffer.alloc(0)
  while (read.length < HEADER_BYTES) {
    const next = await source.next()
    if (next.done) break
    read = Buffer.concat([read, next.value])
  }
  if (read.length < HEADER_BYTES || !read.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw backupInvalid('the file is no backup of Wharf’s, or one of a newer version, or its end is missing')
  }
  return { header: read.subarray(0, HEADER_BYTES), rest: read.subarray(HEADER_BYTES) }
}

async function* beginningWith(first: Buffer, source: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value
}

interface Block {
  readonly block: Buffer
  readonly index: number
  readonly isLast: boolean
}

/** Cuts bytes into blocks of one length; the last is shorter, or empty, or as long. There is always one. */
async function* blocksOf(bytes: AsyncIterable<Buffer>, length: number): AsyncGenerator<Block> {
  let waiting: Buffer = Buffer.alloc(0)
  let index = 0
  for await (const chunk of bytes) {
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk])
    // One that may be the last waits until it is known whether more comes.
    while (waiting.length > length) {
      yield { block: waiting.subarray(0, length), index, isLast: false }
      waiting = waiting.subarray(length)
      index += 1
    }
  }
  yield { block: waiting, index, isLast: true }
}
