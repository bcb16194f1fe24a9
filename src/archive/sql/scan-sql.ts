/** The longest text of SQL that is read: PostgreSQL's parser is fast, but this process waits for it. */
const MAX_LENGTH = 1024 * 1024

/** At most as many tokens: to parse more would hold up everything else for longer than 20 ms. */
const MAX_TOKENS = 6_000

/**
 * At most as many tokens one inside, or one behind, the other without a comma between: the parser calls itself for each,
 * and runs out of stack at about twice as many. How deep the tree is then is limited by `definition.ts`.
 */
const MAX_NESTING = 4_000

/** PostgreSQL's longest operator. */
const MAX_OPERATOR = 63

/** AND. */
const LONGEST_SEPARATOR = 3

const SPACES = /[ \t\n\r\f\v]+/y
const WORD = /[A-Za-z0-9_.\u0080-\u{10FFFF}][A-Za-z0-9_.$\u0080-\u{10FFFF}]*/uy
const OPERATOR = /[~!@#^&|`?+\-*/%<>=]+/y
const CONTINUED = /[ \t\f\v]*[\n\r][ \t\n\r\f\v]*'/y

export interface ScanOptions {
  /** Whether it may be a function: with a body that is quoted by dollars, or of statements that semicolons end. */
  readonly mayHaveBody?: boolean
}

/**
 * Looks over SQL before it is parsed, in time that grows with its length: PostgreSQL's scanner needs hours for some
 * texts of a megabyte (comments inside comments), and its parser runs out of stack for others.
 *
 * Refuses what PostgreSQL never prints: comments, semicolons, dollar quotes, Unicode escapes, and strings in several
 * pieces.
 *
 * @returns what is wrong, for a message; undefined if nothing is.
 */
export function findScanFault(text: string, { mayHaveBody = false }: ScanOptions = {}): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  const nesting = createNesting(text)
  let tokens = 0
  for (let at = skip(SPACES, text, 0); at < text.length; at = skip(SPACES, text, at)) {
    const end = (mayHaveBody ? endOfBodyToken(text, at) : undefined) ?? endOfToken(text, at)
    if (typeof end === 'string') return end
    tokens += 1
    if (tokens > MAX_TOKENS) return `must have at most ${MAX_TOKENS} words, constants and signs`
    const depth = nesting.add(text.slice(at, Math.min(end, at + LONGEST_SEPARATOR + 1)))
    if (depth === undefined) return UNMATCHED
    if (depth > MAX_NESTING) return TOO_DEEP
    at = end
  }
  return nesting.isClosed() ? undefined : UNMATCHED
}

export const TOO_DEEP = 'is nested too deeply'
const UNMATCHED = 'has brackets that do not match'

/** What is between two brackets, or is not between any. */
interface Group {
  /** How deep the tree of what came since the last comma can be at most. */
  depth: number
  /** The same for what came before it. */
  deepest: number
}

/**
 * Counts how deep the parse tree of some tokens can be at most: every token can be a level, and brackets nest. The
 * count starts over at each comma, and at AND and OR, whose lists the parser keeps flat.
 */
function createNesting(text: string) {
  const outermost: Group = { depth: 0, deepest: 0 }
  const open: Group[] = []
  let group = outermost
  let total = 0
  // The parts of a CASE are between no brackets.
  const separators = /\bcase\b/i.test(text) ? /^,$/ : /^(?:,|and|or)$/i

  const add = (levels: number): void => {
    group.depth += levels
    total += levels
  }
  const beginAnew = (): void => {
    group.deepest = Math.max(group.deepest, group.depth)
    total -= group.depth
    group.depth = 0
  }
  return {
    /** @returns how deep the tree can be by now; undefined for a closing bracket without an opening one. */
    add(token: string): number | undefined {
      if (token === '(' || token === '[') {
        open.push(group)
        group = { depth: 0, deepest: 0 }
        add(1)
      } else if (token === ')' || token === ']') {
        beginAnew()
        const { deepest } = group
        const outer = open.pop()
        if (!outer) return undefined
        group = outer
        add(deepest)
      } else if (separators.test(token)) {
        beginAnew()
      } else {
        add(1)
      }
      return total
    },
    isClosed: () => open.length === 0,
  }
}

const DOLLARS = /\$(?:[A-Za-z_\u0080-\u{10FFFF}][A-Za-z0-9_\u0080-\u{10FFFF}]*)?\$/uy

/** The same for a dollar quote, the number of an argument and a semicolon; undefined for anything else. */
function endOfBodyToken(text: string, at: number): number | string | undefined {
  if (text.charAt(at) === ';') return at + 1
  if (text.charAt(at) !== '$') return undefined
  const argumentEnd = skip(ARGUMENT, text, at)
  if (argumentEnd > at) return argumentEnd
  const tagEnd = skip(DOLLARS, text, at)
  const end = tagEnd === at ? -1 : text.indexOf(text.slice(at, tagEnd), tagEnd)
  return end < 0 ? 'has a dollar quote that does not end' : end + (tagEnd - at)
}

const ARGUMENT = /\$\d{1,5}\b/y

/** @returns the position after the token that begins at `at`; or what is wrong with it. */
function endOfToken(text: string, at: number): number | string {
  const first = text.charAt(at)
  if (first === "'" || first === '"') return endOfQuoted(text, at, { escapes: false })
  if (first === ';') return 'must not have a semicolon'
  if (first === '$') return 'must not have parameters or dollar quotes'
  if (first === '\\' || first === '\0') return 'must not have a backslash outside of quotes'
  const operatorEnd = skip(OPERATOR, text, at)
  if (operatorEnd > at) {
    const operator = text.slice(at, operatorEnd)
    if (operator.includes('--') || operator.includes('/*')) return 'must not have comments'
    return operator.length > MAX_OPERATOR ? 'has an operator that is too long' : operatorEnd
  }
  const wordEnd = skip(WORD, text, at)
  if (wordEnd === at) return text.startsWith('::', at) ? at + 2 : at + 1
  const word = text.slice(at, wordEnd).toLowerCase()
  const next = text.charAt(wordEnd)
  if (word === 'u' && next === '&' && /['"]/.test(text.charAt(wordEnd + 1))) return 'must not have Unicode escapes'
  return word === 'e' && next === "'" ? endOfQuoted(text, wordEnd, { escapes: true }) : wordEnd
}

/** @param at position of the quote that begins it. @param options whether a backslash makes the next character part of it. */
function endOfQuoted(text: string, at: number, { escapes }: { readonly escapes: boolean }): number | string {
  const quote = text.charAt(at)
  for (let next = at + 1; next < text.length; next += 1) {
    const character = text.charAt(next)
    if (escapes && character === '\\') next += 1
    if (character !== quote) continue
    if (text.charAt(next + 1) === quote) {
      next += 1
    } else {
      const isContinued = quote === "'" && skip(CONTINUED, text, next + 1) > next + 1
      return isContinued ? 'must not have a string in several pieces' : next + 1
    }
  }
  return 'has a quote that does not end'
}

/** @returns where what `pattern` matches at `at` ends; `at` where it does not. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
