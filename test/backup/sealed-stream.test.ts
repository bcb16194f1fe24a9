import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openSealed, sealStream } from '../../src/backup/sealed-stream.ts'

const PASSPHRASE = 'a passphrase of the operator’s'
const CHUNK_BYTES = 64 * 1024
const HEADER_BYTES = 15 + 32 + 16
const SEALED_CHUNK_BYTES = CHUNK_BYTES + 16

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}

const seal = (bytes: Buffer, length = 10_000): Promise<Buffer> =>
  buffer(sealStream(inPieces(bytes, length), PASSPHRASE))
const open = (bytes: Buffer, passphrase = PASSPHRASE, length = 10_000): Promise<Buffer> =>
  buffer(openSealed(inPieces(bytes, length), passphrase))

test.each([0, CHUNK_BYTES, CHUNK_BYTES + 1, 200_000])('%i bytes come back as they were', async (length) => {
  const bytes = randomBytes(length)
  expect((await open(await seal(bytes), PASSPHRASE, 777)).equals(bytes)).toBe(true)
})

test('another passphrase is refused, and named as the reason', async () => {
  await expect(open(await seal(Buffer.from('x')), 'another passphrase')).rejects.toMatchObject({
    code: 'BACKUP_INVALID',
    message: 'the backup was made with another key than this one',
  })
})

test('a changed byte is refused, wherever it is', async () => {
  const sealed = await seal(randomBytes(CHUNK_BYTES + 50))
  const positions = [0, 15, 62, 63, HEADER_BYTES + SEALED_CHUNK_BYTES - 1, sealed.length - 1]
  for (const position of positions) {
    const changed = Buffer.from(sealed)
    changed[position] = (changed[position] ?? 0) ^ 1
    await expect(open(changed), `byte ${position}`).rejects.toMatchObject({ code: 'BACKUP_INVALID' })
  }
})

test('a stream that was cut off is refused, wherever it was', async () => {
  const sealed = await seal(randomBytes(2 * CHUNK_BYTES + 50))
  const ends = [0, HEADER_BYTES - 1, HEADER_BYTES]
  const whole = [1, 2].map((chunks) => HEADER_BYTES + chunks * SEALED_CHUNK_BYTES)
  for (const end of [...ends, ...whole, sealed.length - 1]) {
    await expect(open(sealed.subarray(0, end)), `${end} bytes`).rejects.toMatchObject({ code: 'BACKUP_INVALID' })
  }
})

test('chunks that changed positions are refused, and so is one that is there twice', async () => {
  const sealed = await seal(randomBytes(2 * CHUNK_BYTES + 50))
  const chunk = (index: number): Buffer =>
    sealed.subarray(HEADER_BYTES + index * SEALED_CHUNK_BYTES, HEADER_BYTES + (index + 1) * SEALED_CHUNK_BYTES)
  const header = sealed.subarray(0, HEADER_BYTES)
  for (const order of [
    [1, 0, 2],
    [0, 0, 1, 2],
    [0, 1, 2, 2],
  ]) {
    await expect(open(Buffer.concat([header, ...order.map(chunk)])), `${order}`).rejects.toMatchObject({
      code: 'BACKUP_INVALID',
    })
  }
})

test('the same bytes are never sealed alike', async () => {
  const bytes = Buffer.from('the same')
  expect((await seal(bytes)).equals(await seal(bytes))).toBe(false)
})
