import { type ByteText, toByteText } from '../lib/byte-text.ts'

/**
 * The text around and between the contents of many lines of one kind. To get whole lines, have PostgreSQL join the
 * contents with `join` (as the separator of `string_agg`), and put `prefix` before and `suffix` after them.
 */
export interface PageParts {
  readonly prefix: ByteText
  readonly join: string
  readonly suffix: ByteText
}

const partsOf = (kind: string): PageParts => {
  const [prefix, suffix] = [`{"${kind}":`, '}\n']
  return { prefix: toByteText(prefix), join: `${suffix}${prefix}`, suffix: toByteText(suffix) }
}

export const ROW_PARTS: PageParts = partsOf('row')
export const EVENT_PARTS: PageParts = partsOf('event')
