import { escapeItem } from '../../copy/text-array.ts'
import { escapeText } from '../../copy/text-fields.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
import { createTurns } from '../../lib/give-way.ts'
import type { NameColumn } from './name-columns.ts'
import type { NameMap } from './name-map.ts'
import { mapObjectName, quoteString } from './object-names.ts'
import { namesSchema } from './schema-names.ts'
import { isSign } from './token-names.ts'
import { tokensOf } from './tokens.ts'

/** Gives the map for names that some text has. */
export type MapFor = (text: string) => Promise<NameMap>

/**
 * Rows for COPY, in which the names of objects are those of the stage.
 *
 * @param columns not empty. @param map is there before: while COPY runs, the session can be asked nothing.
 */
export async function* mapCopiedNames(
  rows: AsyncIterable<BorrowedBytes>,
  columns: readonly NameColumn[],
  map: NameMap,
): AsyncGenerator<BorrowedBytes, void, undefined> {
  const turn = createTurns()
  let rest: string[] = []
  const mapLines = async (text: string): Promise<Buffer> => {
    if (!namesSchema(text, map.schema)) return Buffer.from(text, 'latin1')
    const lines = text.split('\n')
    for (const [at, line] of lines.entries()) {
      const fields = line.split('\t')
      for (const { index, isArray } of columns) {
        fields[index] &&= mapField(fields[index], (value) => mapValue(value, isArray, map))
        const others = turn()
        if (others !== undefined) await others
      }
      lines[at] = fields.join('\t')
    }
    return Buffer.from(lines.join('\n'), 'latin1')
  }
  for await (const chunk of rows) {
    // As bytes: what is looked for has none above 127, whatever the encoding.
    const text = chunk.now.toString('latin1')
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) yield new BorrowedBytes(await mapLines(rest.join('') + text.slice(0, end)))
    if (end > 0) rest = []
    rest.push(text.slice(end))
  }
  yield new BorrowedBytes(await mapLines(rest.join('')))
}

/** Longer values are not looked into: PostgreSQL refuses those that name a schema which is not there. */
const MAX_VALUE_CHARS = 64 * 1024

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** The last field of a line has a return behind it where the script was written on Windows. */
function mapField(field: string, map: (value: string) => string): string {
  if (field.length > MAX_VALUE_CHARS || field === '\\N') return field
  const [, written = '', end = ''] = /^(.*?)(\r?)$/s.exec(field) ?? []
  const value = written.replace(/\\(.)/gs, (_escape, character: string) => ESCAPES[character] ?? character)
  const mapped = map(value)
  return mapped === value ? field : escapeText(mapped) + end
}

/** The rows of an INSERT that has constants alone. */
export async function mapInsertedNames(rows: string, columns: readonly NameColumn[], mapFor: MapFor): Promise<string> {
  const map = await mapFor(rows)
  if (!namesSchema(rows, map.schema)) return rows
  const bytes = Buffer.from(rows)
  let [index, done, mapped] = [0, 0, '']
  for (const token of tokensOf(bytes)) {
    if (token.kind === 'open') index = 0
    if (isSign(bytes, token, ',')) index += 1
    const column = columns.find((each) => each.index === index)
    if (!column || token.kind !== 'string' || bytes[token.start] !== QUOTE) continue
    if (token.end - token.start > MAX_VALUE_CHARS) continue
    const value = bytes.toString('utf8', token.start + 1, token.end - 1).replaceAll("''", "'")
    mapped += bytes.toString('utf8', done, token.start) + quoteString(mapValue(value, column.isArray, map))
    done = token.end
  }
  return mapped + bytes.toString('utf8', done)
}

const QUOTE = 0x27

const mapValue = (value: string, isArray: boolean, map: NameMap): string =>
  isArray ? mapElements(value, map) : mapObjectName(value, map)

/**
 * The elements of an array, in quotes where they need them. Quotes that nothing closes go to the end, so that nothing
 * behind them is looked through again.
 */
const ELEMENTS = /"((?:[^"\\]|\\.)*)("|\\?$)|[^{},"\s]+/gs

const mapElements = (array: string, map: NameMap): string =>
  array.replace(ELEMENTS, (whole, quoted: string | undefined, close: string | undefined) => {
    if (quoted !== undefined && close !== '"') return whole
    const element = quoted?.replace(/\\(.)/gs, '$1') ?? whole
    const mapped = mapObjectName(element, map)
    return mapped === element ? whole : `"${escapeItem(mapped)}"`
  })
