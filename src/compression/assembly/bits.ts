/** Where the next whole byte is written. */
export let to: usize = 0
/** Bits that are not written yet, the first of them the lowest; fewer than eight after `flushBits`. */
export let bits: u64 = 0
export let bitCount: u64 = 0

export function startBits(at: usize): void {
  setBits(at, 0, 0)
}

export function setBits(at: usize, pending: u64, count: u64): void {
  to = at
  bits = pending
  bitCount = count
}

/** @param value has no bits above `count`. @param count at most 32. */
export function putBits(value: u64, count: u64): void {
  bits |= value << bitCount
  bitCount += count
  flushBits()
}

/** Writes the bytes that are full. */
function flushBits(): void {
  store<u64>(to, bits)
  const full = bitCount >> 3
  to += <usize>full
  bits >>= full << 3
  bitCount &= 7
}

/** Fills the last byte with zeros. */
export function endByte(): void {
  putBits(0, (8 - bitCount) & 7)
}
