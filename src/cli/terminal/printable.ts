/**
 * What a terminal would obey, or not show: C0 and C1 controls and DEL, format characters (bidi controls, those without
 * width, tags), lone surrogates, and the separators of lines and paragraphs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The only sequences that we send: bold on and off, see `formatTable`. */
const OWN_STYLES = ['\u001b[1m', '\u001b[22m'] as const

/** Writes a character in the way of JSON, so that it can be seen: `\u001b`. */
const toEscape = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => {
    const unit = character.charCodeAt(index)
    return `\\u${unit.toString(16).padStart(4, '0')}`
  }).join('')

/** Makes text of others harmless to a terminal, and one line of it: names and messages may hold escape sequences. */
export function printable(text: string): string {
  return text.replace(/[\t\r\n]+/g, ' ').replace(UNPRINTABLE, toEscape)
}

/**
 * The last look at any text before it is written. Line breaks, tabs and our own style stay; every piece that comes from
 * elsewhere should have been made one line by `printable` before.
 */
export const harmless = (text: string): string => withoutUnprintable(text, OWN_STYLES)

function withoutUnprintable(text: string, [style, ...others]: readonly string[]): string {
  if (style === undefined) return text.replace(UNPRINTABLE, exceptLayout)
  return text
    .split(style)
    .map((part) => withoutUnprintable(part, others))
    .join(style)
}

const exceptLayout = (character: string): string =>
  character === '\n' || character === '\t' ? character : toEscape(character)

/** JSON that says the same, in which nothing is left that a terminal would obey. */
export const printableJson = (value: object): string => JSON.stringify(value).replace(UNPRINTABLE, toEscape)
