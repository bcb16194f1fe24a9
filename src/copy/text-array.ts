import type { EventRowsEncoder } from '../archive/row-encoder.ts'
import { GrowingBuffer } from '../lib/growing-buffer.ts'
import { escapeText } from './text-fields.ts'

/** Texts as an array of PostgreSQL. @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
export const toArrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${escapeItem(text)}"`).join(',')}}`

/** A text as it stands in the quotes of an element of an array. */
export const escapeItem = (text: string): string => text.replace(/[\\"]/g, '\\$&')

/** Writes texts as a field of COPY that is an array of text, a few characters at a time. */
export function createTextArray(): EventRowsEncoder {
  const written = new GrowingBuffer()
  let isEmpty = true
  return {
    beginRow() {
      written.append(isEmpty ? '{"' : ',"')
      isEmpty = false
    },
    add: (text) => written.append(escapeText(escapeItem(text))),
    endRow: () => written.append('"'),
    endList() {
      written.append(isEmpty ? '{}' : '}')
      isEmpty = true
    },
    take: () => written.take(),
  }
}
