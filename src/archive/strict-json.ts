/** Deeper than any line of an archive is. */
const MAX_DEPTH = 32

export const UNSTORABLE = 'has text that PostgreSQL cannot store: the character U+0000, or half of a surrogate pair'

/** Whether PostgreSQL can store the text as it is: it refuses U+0000, and half a surrogate pair becomes U+FFFD. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

/**
 * Finds what `JSON.parse` lets pass, or mends in silence: a key that an object has twice, text that PostgreSQL cannot
 * store, and nesting without end.
 *
 * @param json text that `JSON.parse` accepts.
 * @returns what is wrong, for a message; undefined if nothing is.
 */
export function findJsonFault(json: string): string | undefined {
  /** For each open object its keys; for each open array, nothing. */
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < json.length; at += 1) {
    const token = json[at]
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined)
    if (token === '}' || token === ']') open.pop()
    if (open.length > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    if (token !== '"') continue

    const end = endOfString(json, at)
    const text: string = JSON.parse(json.slice(at, end))
    if (!isStorable(text)) return UNSTORABLE
    at = end - 1
    if (!isKey(json, end)) continue
    const keys = open.at(-1)
    if (keys?.has(text)) return 'has an object with the same key twice'
    keys?.add(text)
  }
  return undefined
}

/** @returns the position after the quote that ends the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  // By hand: a regular expression for this runs out of stack on a string of some megabytes.
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return quote + 1
  }
}

/** Whether the string that ends before `position` is an object's key. */
function isKey(json: string, position: number): boolean {
  let next = position
  while (json[next] === ' ' || json[next] === '\t' || json[next] === '\r' || json[next] === '\n') next += 1
  return json[next] === ':'
}
