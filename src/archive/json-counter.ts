/** Deeper than any line of an archive is. */
const MAX_DEPTH = 32

/** A table of 1,600 columns, each with an identity and a comment, has less than half of that. */
const MAX_VALUES = 100_000

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** JSON that is looked through before it is parsed. */
export interface JsonCounter {
  /** Names and values so far, about. */
  readonly values: number
  /**
   * Takes the bytes that follow; they may be cut anywhere.
   *
   * @returns what is too much, for a message; undefined if nothing is.
   */
  count(bytes: Buffer): string | undefined
}

/**
 * Counts how deep JSON is nested and how many values it has, in its bytes: to parse it may take a hundred times as much
 * memory. Whether it is JSON does not matter here.
 */
export function createJsonCounter(): JsonCounter {
  let [depth, values] = [0, 0]
  let isInString = false
  /** Whether the first of the bytes to come stands behind a backslash. */
  let isEscaped = false

  return {
    get values() {
      return values
    },
    count(bytes) {
      let at = isEscaped ? 1 : 0
      for (; at < bytes.length; at += 1) {
        const byte = bytes[at]
        if (isInString) {
          if (byte === BACKSLASH) at += 1
          else if (byte === QUOTE) isInString = false
          continue
        }
        if (byte === QUOTE) isInString = true
        else if (byte === COMMA || byte === COLON) values += 1
        else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) depth -= 1
        else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
          values += 1
          depth += 1
          if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
        }
        if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`
      }
      isEscaped = at > bytes.length
      return undefined
    },
  }
}
