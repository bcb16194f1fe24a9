import {
  BACKSLASH,
  hexOf,
  LETTER_B,
  LETTER_F,
  LETTER_N,
  LETTER_R,
  LETTER_T,
  LETTER_U,
  QUOTE,
  SLASH,
  specialsOf,
} from './characters'
import { INVALID, setOutput, to } from './output'

/** Copies what stands for itself in a string of JSON. @returns the position of the first byte that does not: a newline at the latest. */
export function copyPlain(start: usize): usize {
  let at = start
  let target = to
  while (true) {
    const bytes = v128.load(at)
    v128.store(target, bytes)
    const specials = specialsOf(bytes)
    const plain: usize = specials === 0 ? 16 : ctz(specials)
    at += plain
    target += plain
    if (plain < 16) break
  }
  setOutput(target)
  return at
}

/**
 * Reads a string of JSON from behind its opening quote.
 *
 * @param isField whether it is written as COPY's text format has it; as it is, otherwise.
 * @returns the position behind its closing quote, or `INVALID`.
 */
export function readString(start: usize, isField: bool): usize {
  let at = start
  while (true) {
    at = copyPlain(at)
    const byte = load<u8>(at++)
    if (byte === QUOTE) return at
    if (byte !== BACKSLASH) return INVALID
    const letter = load<u8>(at++)
    if (letter === LETTER_U) {
      const point = codePointAt(at)
      if (point === 0) return INVALID
      at += point < 0x10000 ? 4 : 10
      const name = isField && point < 0x80 ? escapeName(<u8>point) : 0
      if (name > 0) put2(BACKSLASH, name)
      else putCodePoint(point)
      continue
    }
    const meant = unescaped(letter)
    if (meant === 0) return INVALID
    const name = isField ? escapeName(meant) : 0
    if (name > 0) put2(BACKSLASH, name)
    else put1(meant)
  }
}

/** @returns the character for the letter of an escape; 0 for none. */
export function unescaped(letter: u8): u8 {
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case SLASH:
      return letter
    case LETTER_B:
      return 0x08
    case LETTER_F:
      return 0x0c
    case LETTER_N:
      return 0x0a
    case LETTER_R:
      return 0x0d
    case LETTER_T:
      return 0x09
    default:
      return 0
  }
}

/** What stands behind a backslash for a character, in a field of COPY; 0 where it stands for itself. */
function escapeName(byte: u8): u8 {
  switch (byte) {
    case BACKSLASH:
      return BACKSLASH
    case 0x08:
      return LETTER_B
    case 0x09:
      return LETTER_T
    case 0x0a:
      return LETTER_N
    case 0x0c:
      return LETTER_F
    case 0x0d:
      return LETTER_R
    default:
      return 0
  }
}

/**
 * Reads the digits of a `\u` escape, and of the one after it where the two are one character.
 *
 * @param start behind the `u`.
 * @returns the code point; 0 for what is none, or what PostgreSQL cannot store: U+0000, or half of a surrogate pair.
 */
export function codePointAt(start: usize): u32 {
  const unit = hexUnit(start)
  if (unit < 0xd800 || unit > 0xdfff) return unit
  if (unit >= 0xdc00 || load<u8>(start + 4) !== BACKSLASH || load<u8>(start + 5) !== LETTER_U) return 0
  const low = hexUnit(start + 6)
  if (low < 0xdc00 || low > 0xdfff) return 0
  return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
}

/** @returns the value of four hexadecimal digits; 0 where one is none. */
function hexUnit(start: usize): u32 {
  let unit: u32 = 0
  for (let at = start; at < start + 4; at++) {
    const digit = hexOf(load<u8>(at))
    if (digit > 15) return 0
    unit = unit * 16 + digit
  }
  return unit
}

/** Writes a character in UTF-8. */
export function putCodePoint(point: u32): void {
  if (point < 0x80) {
    put1(<u8>point)
  } else if (point < 0x800) {
    put2(<u8>(0xc0 | (point >> 6)), continued(point))
  } else if (point < 0x10000) {
    put1(<u8>(0xe0 | (point >> 12)))
    put2(continued(point >> 6), continued(point))
  } else {
    put2(<u8>(0xf0 | (point >> 18)), continued(point >> 12))
    put2(continued(point >> 6), continued(point))
  }
}

function continued(bits: u32): u8 {
  return <u8>(0x80 | (bits & 0x3f))
}

export function put1(byte: u8): void {
  store<u8>(to, byte)
  setOutput(to + 1)
}

function put2(first: u8, second: u8): void {
  store<u8>(to, first)
  store<u8>(to, second, 1)
  setOutput(to + 2)
}
