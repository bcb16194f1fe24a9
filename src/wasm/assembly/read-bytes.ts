import { BACKSLASH, hexOf, LETTER_X, MINUS, QUOTE } from './characters'
import { INVALID, putInt32, setInt32, setOutput, to } from './output'

const UUID_BYTES: i32 = 16

/** Reads a UUID, and writes it with its length. @returns the position behind it. */
export function readUuid(start: usize): usize {
  putInt32(UUID_BYTES)
  let at = start
  for (let byte: i32 = 0; byte < UUID_BYTES; byte++, at += 2) {
    if ((byte === 4 || byte === 6 || byte === 8 || byte === 10) && load<u8>(at++) !== MINUS) return INVALID
    if (!putHexByte(at)) return INVALID
  }
  return at
}

/** Reads a `bytea`, written in hexadecimal digits behind `\x`, up to its closing quote. @returns the position of that. */
export function readBytea(start: usize): usize {
  if (load<u8>(start) !== BACKSLASH || load<u8>(start + 1) !== BACKSLASH || load<u8>(start + 2) !== LETTER_X) {
    return INVALID
  }
  const lengthAt = to
  setOutput(to + 4)
  let at = start + 3
  for (; load<u8>(at) !== QUOTE; at += 2) if (!putHexByte(at)) return INVALID
  setInt32(lengthAt, <i32>(to - lengthAt - 4))
  return at
}

/** @returns whether there are two digits at `at`. */
function putHexByte(at: usize): bool {
  const high = hexOf(load<u8>(at))
  const low = hexOf(load<u8>(at + 1))
  if (high > 15 || low > 15) return false
  store<u8>(to, <u8>((high << 4) | low))
  setOutput(to + 1)
  return true
}
