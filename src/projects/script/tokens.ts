/** What PostgreSQL's scanner, and psql's, tell apart as far as it matters where a statement ends. */
export type TokenKind =
  | 'space'
  | 'comment'
  /** A comment that the text ends in. */
  | 'unfinished'
  | 'word'
  /** A name in double quotes. */
  | 'name'
  /** A constant in single quotes, or between dollars. */
  | 'string'
  | 'number'
  | 'semicolon'
  | 'open'
  | 'close'
  | 'backslash'
  | 'other'

export interface Token {
  readonly kind: TokenKind
  readonly start: number
  /** The position behind it. */
  readonly end: number
}

export interface Tokenizer {
  /**
   * Reads the token at `start`.
   *
   * @param bytes of an encoding in which every byte below 128 is the ASCII character. @param isLast whether nothing
   *   follows on them.
   * @returns undefined where more bytes are needed to know where it ends. The next call must be for the same token; it
   *   goes on where this one stopped, so that a long token is not read again with each piece of it.
   */
  next(bytes: Buffer, start: number, isLast: boolean): Token | undefined
}

const [TAB, NEWLINE, FORM_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0c, 0x0d, 0x20]
const [DOUBLE_QUOTE, DOLLAR, QUOTE, OPEN, CLOSE, STAR] = [0x22, 0x24, 0x27, 0x28, 0x29, 0x2a]
const [MINUS, POINT, SLASH, SEMICOLON, BACKSLASH, VERTICAL_TAB] = [0x2d, 0x2e, 0x2f, 0x3b, 0x5c, 0x0b]
const [CAPITAL_E, LETTER_E] = [0x45, 0x65]

const isSpace = (byte: number | undefined): boolean =>
  byte === SPACE || byte === NEWLINE || byte === TAB || byte === RETURN || byte === FORM_FEED || byte === VERTICAL_TAB

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const beginsWord = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || byte >= 0x80)

const continuesTag = (byte: number | undefined): boolean => beginsWord(byte) || isDigit(byte)
const continuesWord = (byte: number | undefined): boolean => continuesTag(byte) || byte === DOLLAR
const continuesNumber = (byte: number | undefined): boolean => continuesTag(byte) || byte === POINT

/** What is longer between two dollars is no tag of a constant. */
const MAX_TAG_BYTES = 1024

/** Where a token ends; undefined where the bytes end before. */
type End = number | undefined

/** What is known of the token under way, and of the one before. */
interface Progress {
  /** Where to go on in it; 0 at its beginning. */
  resumeAt: number
  /** How many comments are open there, one inside the other. */
  depth: number
  /** Whether a string with escapes ended before, so that another one may continue it: behind a newline, it does. */
  continuable: 'no' | 'behind a newline' | 'here'
}

/** The bytes from which a token is read. */
interface Input {
  readonly bytes: Buffer
  readonly start: number
  readonly isLast: boolean
}

/**
 * Reads SQL token by token, as psql does to find where statements end.
 *
 * @param standardStrings whether a backslash in an ordinary string stands for itself (`standard_conforming_strings`).
 * @see https://github.com/postgres/postgres/blob/master/src/fe_utils/psqlscan.l
 */
export function createTokenizer(standardStrings: () => boolean = () => true): Tokenizer {
  const progress: Progress = { resumeAt: 0, depth: 0, continuable: 'no' }
  return {
    next(bytes, start, isLast) {
      const found = read({ bytes, start, isLast }, progress, standardStrings)
      if (found) progress.resumeAt = 0
      return found
    },
  }
}

function read(input: Input, progress: Progress, standardStrings: () => boolean): Token | undefined {
  const { bytes, start, isLast } = input
  const [byte, next] = [bytes[start], bytes[start + 1]]
  if (isSpace(byte)) return readSpaces(input, progress)
  const mayBeComment = byte === MINUS || byte === SLASH
  if (mayBeComment && next === undefined && !isLast) return undefined
  if (byte === MINUS && next === MINUS) return token('comment', start, run(input, progress, isInLine))
  const { continuable } = progress
  progress.continuable = 'no'
  if (byte === SLASH && next === STAR) {
    const end = endOfBlockComment(input, progress)
    return token(progress.depth === 0 ? 'comment' : 'unfinished', start, end)
  }
  if (byte === QUOTE) {
    const found = readString(input, progress, { quoteAt: start, escapes: continuable === 'here' || !standardStrings() })
    if (!found) progress.continuable = continuable
    return found
  }
  if (byte === DOUBLE_QUOTE)
    return token('name', start, endOfQuoted(input, progress, { quoteAt: start, escapes: false }))
  if ((byte === LETTER_E || byte === CAPITAL_E) && next === QUOTE) {
    return readString(input, progress, { quoteAt: start + 1, escapes: true })
  }
  if (beginsWord(byte)) return token('word', start, run(input, progress, continuesWord))
  if (isDigit(byte)) return token('number', start, run(input, progress, continuesNumber))
  if (byte === DOLLAR) return readDollar(input, progress)
  return token(SIGNS.get(byte ?? 0) ?? 'other', start, start + 1)
}

function readSpaces({ bytes, start }: Input, progress: Progress): Token | undefined {
  let end = start + 1
  while (isSpace(bytes[end])) end += 1
  const hasNewline = /[\n\r]/.test(bytes.toString('latin1', start, end))
  if (hasNewline && progress.continuable === 'behind a newline') progress.continuable = 'here'
  return token('space', start, end)
}

/** The end of a run of bytes. */
function run(
  { bytes, start, isLast }: Input,
  progress: Progress,
  continues: (byte: number | undefined) => boolean,
): End {
  let at = Math.max(start + 1, progress.resumeAt)
  while (continues(bytes[at])) at += 1
  progress.resumeAt = at
  return at === bytes.length && !isLast ? undefined : at
}

const isInLine = (byte: number | undefined): boolean => byte !== undefined && byte !== NEWLINE && byte !== RETURN

function endOfBlockComment({ bytes, start, isLast }: Input, progress: Progress): End {
  if (progress.resumeAt === 0) progress.depth = 1
  let at = Math.max(start + 2, progress.resumeAt)
  while (at + 1 < bytes.length) {
    const [byte, next] = [bytes[at], bytes[at + 1]]
    const isBoundary = (byte === STAR && next === SLASH) || (byte === SLASH && next === STAR)
    if (isBoundary) progress.depth += byte === SLASH ? 1 : -1
    at += isBoundary ? 2 : 1
    if (progress.depth === 0) return at
  }
  progress.resumeAt = at
  return isLast ? bytes.length : undefined
}

interface Quotes {
  /** Where the opening one is. */
  readonly quoteAt: number
  /** Whether a backslash takes the next byte along. */
  readonly escapes: boolean
}

function readString(input: Input, progress: Progress, quotes: Quotes): Token | undefined {
  const end = endOfQuoted(input, progress, quotes)
  if (end !== undefined && quotes.escapes) progress.continuable = 'behind a newline'
  return token('string', input.start, end)
}

function endOfQuoted({ bytes, isLast }: Input, progress: Progress, { quoteAt, escapes }: Quotes): End {
  const quote = bytes[quoteAt] ?? QUOTE
  for (let at = Math.max(quoteAt + 1, progress.resumeAt); ; ) {
    at = escapes ? nextSpecial(bytes, at, quote) : nextOf(bytes, at, quote)
    // A quote may be the first of two, and a backslash takes the next byte along.
    if (at + 1 < bytes.length) {
      if (bytes[at] === quote && bytes[at + 1] !== quote) return at + 1
      at += 2
    } else {
      progress.resumeAt = at
      return isLast ? bytes.length : undefined
    }
  }
}

function nextOf(bytes: Buffer, from: number, byte: number): number {
  const found = bytes.indexOf(byte, from)
  return found < 0 ? bytes.length : found
}

function nextSpecial(bytes: Buffer, from: number, quote: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== quote && bytes[at] !== BACKSLASH) at += 1
  return at
}

/** A parameter, a string between dollars, or a dollar. */
function readDollar(input: Input, progress: Progress): Token | undefined {
  const { bytes, start, isLast } = input
  if (isDigit(bytes[start + 1])) return token('number', start, run(input, progress, isDigit))
  let tagEnd = start + 1
  while (continuesTag(bytes[tagEnd]) && tagEnd - start < MAX_TAG_BYTES) tagEnd += 1
  if (tagEnd === bytes.length && !isLast) return undefined
  if (bytes[tagEnd] !== DOLLAR) return token('other', start, start + 1)
  const tag = bytes.subarray(start, tagEnd + 1)
  const found = bytes.indexOf(tag, Math.max(tagEnd + 1, progress.resumeAt))
  if (found >= 0) return token('string', start, found + tag.length)
  progress.resumeAt = Math.max(tagEnd + 1, bytes.length - tag.length)
  return isLast ? token('string', start, bytes.length) : undefined
}

const SIGNS: ReadonlyMap<number, TokenKind> = new Map([
  [SEMICOLON, 'semicolon'],
  [OPEN, 'open'],
  [CLOSE, 'close'],
  [BACKSLASH, 'backslash'],
])

const token = (kind: TokenKind, start: number, end: End): Token | undefined =>
  end === undefined ? undefined : { kind, start, end }

/** All tokens of one statement, spaces and comments included. */
export function tokensOf(bytes: Buffer): readonly Token[] {
  const tokenizer = createTokenizer()
  const tokens: Token[] = []
  for (let at = 0; at < bytes.length; ) {
    const found = tokenizer.next(bytes, at, true)
    if (!found) break
    tokens.push(found)
    at = found.end
  }
  return tokens
}
