import { type AppError, invalidRequest, type PostgrestError } from '../../errors.ts'
import { POSTGREST } from './postgrest-codes.ts'

/** What ends a name that is not quoted, beside `->`. */
const NAME_ENDS = new Set('.,:()"!*')

/** Reads the text of one query parameter from left to right, and says where it is not as it should be. */
export class Reader {
  /** What to call the text in an error message, e.g. `query parameter "select"`. */
  readonly source: string
  readonly text: string
  position = 0

  constructor(source: string, text: string) {
    this.source = source
    this.text = text
  }

  get atEnd(): boolean {
    return this.position >= this.text.length
  }

  startsWith(token: string): boolean {
    return this.text.startsWith(token, this.position)
  }

  /** Goes past `token` if it is next. */
  take(token: string): boolean {
    const found = this.startsWith(token)
    if (found) this.position += token.length
    return found
  }

  /** Goes past what `pattern` (sticky) matches here; null where it does not. */
  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position
    const found = pattern.exec(this.text)
    if (found) this.position = pattern.lastIndex
    return found
  }

  expect(token: string): void {
    if (!this.take(token)) throw this.malformed(`"${token}"`)
  }

  expectEnd(alternatives = ''): void {
    if (!this.atEnd) throw this.malformed(`${alternatives}the end`)
  }

  /** What is left. */
  rest(): string {
    const rest = this.text.slice(this.position)
    this.position = this.text.length
    return rest
  }

  skipSpace(): void {
    this.match(/\s*/y)
  }

  /** A name: quoted, with `\` before a quote or a backslash in it, or up to a character that has a meaning. */
  name(expected: string): string {
    this.skipSpace()
    const start = this.position
    if (this.startsWith('"')) {
      const name = this.quoted()
      this.skipSpace()
      if (name === '') throw this.malformed(expected, start)
      return name
    }
    while (!this.atEnd && !NAME_ENDS.has(this.text[this.position] ?? '') && !this.startsWith('->')) this.position++
    const name = this.text.slice(start, this.position).trimEnd()
    if (name === '') throw this.malformed(expected)
    return name
  }

  /** A key of a JSON object: like a name, but what is not quoted may have more characters, and begins with no `-`. */
  key(expected: string): string {
    if (this.startsWith('"')) return this.name(expected)
    const plain = this.startsWith('-') ? null : this.match(/(?:(?!->)[^(:.,>)])+/y)
    const key = plain?.[0].trim()
    if (!key) throw this.malformed(expected)
    return key
  }

  /** Something in double quotes, which are next. */
  quoted(): string {
    this.expect('"')
    let value = ''
    for (;;) {
      const plain = this.match(/[^"\\]*/y)
      value += plain?.[0] ?? ''
      if (this.take('"')) return value
      if (!this.take('\\') || this.atEnd) throw this.malformed('a closing double quote')
      value += this.text[this.position++]
    }
  }

  /** The error that something else was expected, here or at another location. */
  malformed(expected: string, position = this.position): AppError {
    const next = this.text.slice(position, position + 1)
    return this.refused(
      `expected ${expected}, found ${next === '' ? 'the end' : `"${next}"`}`,
      position,
      POSTGREST.malformedQuery,
    )
  }

  /** The error that what stands at a location can't be done. */
  refused(problem: string, position = this.position, code?: string, postgrest?: PostgrestError): AppError {
    return invalidRequest(`${this.source}, character ${position + 1}: ${problem}`, [], code, postgrest)
  }
}

/** What error messages call a query parameter. */
export const parameterSource = (name: string): string => `query parameter "${name.slice(0, 200)}"`
