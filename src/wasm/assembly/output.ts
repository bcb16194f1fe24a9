/** Where the next byte is written. */
export let to: usize = 0

export function setOutput(at: usize): void {
  to = at
}

/** Instead of a position, for a value that is left alone. */
export const INVALID: usize = 0

export function putInt16(value: i32): void {
  store<i16>(to, bswap<i16>(<i16>value))
  to += 2
}

export function putInt32(value: i32): void {
  store<i32>(to, bswap<i32>(value))
  to += 4
}

export function putInt64(value: i64): void {
  store<i64>(to, bswap<i64>(value))
  to += 8
}

/** Writes an integer of so many bytes, behind its length. */
export function putInteger(bytes: i32, value: i64): void {
  putInt32(bytes)
  if (bytes === 2) putInt16(<i32>value)
  else if (bytes === 4) putInt32(<i32>value)
  else putInt64(value)
}

export function setInt32(at: usize, value: i32): void {
  store<i32>(at, bswap<i32>(value))
}
