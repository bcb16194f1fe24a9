/** A character that stands for itself, or what a wildcard stands for. */
type Part = { readonly character: string } | 'one' | 'any'

/** Whether a text is a pattern, and not the one text that it stands for. */
export const hasWildcards = (text: string): boolean => /[*?]/.test(text)

/**
 * Whether the whole of a text is what a pattern stands for: `*` is any characters, `?` a single one. What is in double
 * quotes stands for itself; two of them in there are one. Takes as long as both are, multiplied, whatever they are.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const parts = toParts(pattern)
  const characters = [...text]
  let part = 0
  /** Where to go on if what follows the last `*` does not fit. */
  let retry: { readonly part: number; readonly at: number } | undefined
  for (let at = 0; at < characters.length; ) {
    const expected = parts[part]
    if (expected === 'any') {
      retry = { part, at }
      part += 1
    } else if (expected === 'one' || (expected && expected.character === characters[at])) {
      part += 1
      at += 1
    } else if (retry) {
      retry = { part: retry.part, at: retry.at + 1 }
      part = retry.part + 1
      at = retry.at
    } else {
      return false
    }
  }
  return parts.slice(part).every((each) => each === 'any')
}

function toParts(pattern: string): readonly Part[] {
  const found = pattern.match(/"(?:[^"]|"")*"|[\s\S]/gu) ?? []
  return found.flatMap((text): readonly Part[] => {
    if (text === '*') return ['any']
    if (text === '?') return ['one']
    const isQuoted = text.length > 1 && text.startsWith('"')
    return [...(isQuoted ? text.slice(1, -1).replaceAll('""', '"') : text)].map((character) => ({ character }))
  })
}
