/**
 * Compresses a block three times, waits for nothing else, and prints the SHA-256 of each member; then it has nothing more to do.
 *
 * Usage: run-gzip
 */
import { createHash } from 'node:crypto'
import { BLOCK_BYTES, MAX_MEMBER_BYTES } from '../../../src/compression/block-bytes.ts'
import { gzipMember } from '../../../src/compression/gzip-members.ts'

for (let block = 0; block < 3; block += 1) {
  const memory = Buffer.allocUnsafeSlow(MAX_MEMBER_BYTES)
  const { member } = await gzipMember(Buffer.alloc(BLOCK_BYTES, 'a row\n'), memory)
  console.log(createHash('sha256').update(member).digest('hex'))
}
