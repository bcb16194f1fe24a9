import { endByte, startBits, to } from './bits'
import { findMatches, startMatching } from './find-matches'
import { INPUT, OUTPUT } from './memory'
import { listLengths } from './symbols'
import { writeBlock } from './write-block'

export { INPUT, OUTPUT } from './memory'

listLengths()

/**
 * Compresses what stands at `INPUT` as deflate (RFC 1951) to `OUTPUT`, in blocks, each with codes of its own or stored.
 *
 * @param length how many bytes, at most 1 MiB. @returns how many come of it.
 */
export function deflate(length: i32): i32 {
  startBits(OUTPUT)
  startMatching()
  const end: usize = INPUT + <usize>length
  let start = INPUT
  do {
    const next = findMatches(start, end)
    writeBlock(start, next, next === end)
    start = next
  } while (start < end)
  endByte()
  return <i32>(to - OUTPUT)
}
