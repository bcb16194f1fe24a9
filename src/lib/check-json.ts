/** PostgreSQL's own stack does not take so much either. */
const MAX_DEPTH = 10_000

const [TAB, NEWLINE, RETURN, SPACE, QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE] = [
  0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2b, 0x2c, 0x2d, 0x2e, 0x30, 0x39,
]
const [COLON, BACKSLASH, LETTER_U, CAPITAL_E, LETTER_E] = [0x3a, 0x5c, 0x75, 0x45, 0x65]
const [OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

const ESCAPED: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (letter) => letter.charCodeAt(0)))
const WORDS: ReadonlyMap<number, string> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word.slice(1)]),
)
const HEX_DIGIT = /^[\da-fA-F]$/

/** What may come next. */
type State = (typeof BETWEEN)[number] | 'string' | 'escape' | 'hex digit' | 'rest of a word' | NumberState | 'nothing'

/** Where spaces may stand. */
const BETWEEN = ['value', 'value or end', 'key', 'key or end', 'colon', 'behind a value'] as const
const TAKES_SPACES: ReadonlySet<State> = new Set(BETWEEN)

type NumberState = 'minus' | 'zero' | 'digits' | 'point' | 'fraction' | 'exponent' | 'sign' | 'exponent digits'

/** Where in a number it may end. */
const ENDS: ReadonlySet<State> = new Set<State>(['zero', 'digits', 'fraction', 'exponent digits'])

/**
 * Looks whether a text that comes in pieces is JSON, without making anything of it: parsed, a small text may take a
 * hundred times its memory.
 */
export class JsonCheck {
  #state: State = 'value'
  #isKey = false
  #hexDigits = 0
  /** What has to follow of `true`, `false` or `null`. */
  #word = ''
  /** Of each open object or array, what closes it. */
  readonly #open: number[] = []

  /** Whether all that was taken is one JSON value. */
  get isWhole(): boolean {
    return this.#open.length === 0 && (this.#state === 'behind a value' || ENDS.has(this.#state))
  }

  /** Takes the characters that follow; they may be cut anywhere. It takes as long as they are long. */
  take(text: string): void {
    for (let at = 0; at < text.length && this.#state !== 'nothing'; at += 1) {
      // Most of most texts is inside of strings.
      if (this.#state === 'string') at = skipPlain(text, at)
      if (at < text.length) this.#state = this.#step(this.#state, text.charCodeAt(at))
    }
  }

  #step(state: State, code: number): State {
    if (isSpace(code) && TAKES_SPACES.has(state)) return state
    switch (state) {
      case 'value':
        return this.#beginValue(code)
      case 'value or end':
        return code === CLOSING_BRACKET ? this.#endOrGoOn(code) : this.#beginValue(code)
      case 'key':
        return this.#beginKey(code)
      case 'key or end':
        return code === CLOSING_BRACE ? this.#endOrGoOn(code) : this.#beginKey(code)
      case 'colon':
        return code === COLON ? 'value' : 'nothing'
      case 'behind a value':
        return this.#endOrGoOn(code)
      case 'string':
        return this.#inString(code)
      case 'escape':
        return this.#behindBackslash(code)
      case 'hex digit':
        return this.#inHexDigits(code)
      case 'rest of a word':
        return this.#inWord(code)
      case 'nothing':
        return state
      default:
        return inNumber(state, code) ?? (isSpace(code) ? 'behind a value' : this.#endOrGoOn(code))
    }
  }

  #beginValue(code: number): State {
    if (code === QUOTE) {
      this.#isKey = false
      return 'string'
    }
    if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      this.#open.push(code === OPENING_BRACE ? CLOSING_BRACE : CLOSING_BRACKET)
      if (this.#open.length > MAX_DEPTH) return 'nothing'
      return code === OPENING_BRACE ? 'key or end' : 'value or end'
    }
    if (code === MINUS) return 'minus'
    if (isDigit(code)) return code === ZERO ? 'zero' : 'digits'
    this.#word = WORDS.get(code) ?? ''
    return this.#word === '' ? 'nothing' : 'rest of a word'
  }

  #beginKey(code: number): State {
    this.#isKey = true
    return code === QUOTE ? 'string' : 'nothing'
  }

  #endOrGoOn(code: number): State {
    const closing = this.#open.at(-1)
    if (code === closing) {
      this.#open.pop()
      return 'behind a value'
    }
    if (code !== COMMA || closing === undefined) return 'nothing'
    return closing === CLOSING_BRACE ? 'key' : 'value'
  }

  #inString(code: number): State {
    if (code === QUOTE) return this.#isKey ? 'colon' : 'behind a value'
    if (code === BACKSLASH) return 'escape'
    return code < SPACE ? 'nothing' : 'string'
  }

  #behindBackslash(code: number): State {
    this.#hexDigits = 0
    if (code === LETTER_U) return 'hex digit'
    return ESCAPED.has(code) ? 'string' : 'nothing'
  }

  #inHexDigits(code: number): State {
    this.#hexDigits += 1
    if (!HEX_DIGIT.test(String.fromCharCode(code))) return 'nothing'
    return this.#hexDigits === 4 ? 'string' : 'hex digit'
  }

  #inWord(code: number): State {
    if (code !== this.#word.charCodeAt(0)) return 'nothing'
    this.#word = this.#word.slice(1)
    return this.#word === '' ? 'behind a value' : 'rest of a word'
  }
}

/** @returns the position of the next character that means something inside of a string. */
function skipPlain(text: string, start: number): number {
  let at = start
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE || code === BACKSLASH || code < SPACE) break
  }
  return at
}

/** @returns what comes next of a number; undefined where it has ended before the character. */
function inNumber(state: NumberState, code: number): State | undefined {
  const isExponent = code === LETTER_E || code === CAPITAL_E
  switch (state) {
    case 'minus':
      if (!isDigit(code)) return 'nothing'
      return code === ZERO ? 'zero' : 'digits'
    case 'digits':
    case 'zero':
      if (code === POINT) return 'point'
      if (isExponent) return 'exponent'
      if (!isDigit(code)) return undefined
      return state === 'digits' ? state : 'nothing'
    case 'point':
      return isDigit(code) ? 'fraction' : 'nothing'
    case 'fraction':
      if (isExponent) return 'exponent'
      return isDigit(code) ? state : undefined
    case 'exponent':
      if (code === PLUS || code === MINUS) return 'sign'
      return isDigit(code) ? 'exponent digits' : 'nothing'
    case 'sign':
      return isDigit(code) ? 'exponent digits' : 'nothing'
    case 'exponent digits':
      return isDigit(code) ? state : undefined
  }
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/** Whether a character may stand between two tokens of JSON. */
export const isSpace = (code: number | undefined): boolean =>
  code === SPACE || code === NEWLINE || code === RETURN || code === TAB
