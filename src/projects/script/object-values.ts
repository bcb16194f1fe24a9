import { escapeItem } from '../../copy/text-array.ts'
import { escapeText } from '../../copy/text-fields.ts'
import { BorrowedBytes } from '../../lib/borrowed-bytes.ts'
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
 * @param columns not empty.
 */
export async function* mapCopiedNames(
  rows: AsyncIterable<BorrowedBytes>,
  columns: readonly NameColumn[],
  mapFor: MapFor,
): AsyncGenerator<BorrowedBytes, void, undefined> {
  let rest: string[] = []
  for await (const chunk of rows) {
    // As bytes: what is looked for has none above 127, whatever the encoding.
    const text = chunk.now.toString('latin1')
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) yield new BorrowedBytes(await mapLines(rest.join('') + text.slice(0, end), columns, mapFor))
    if (end > 0) rest = []
    rest.push(text.slice(end))
  }
  yield new BorrowedBytes(await mapLines(rest.join(''), columns, mapFor))
}

async function mapLines(text: string, columns: readonly NameColumn[], mapFor: MapFor): Promise<Buffer> {
  const map = await mapFor(text)
  const mapLine = (line: string): string => {
    const fields = line.split('\t')
    for (const { index, isArray } of columns) {
      const field = fields[index]
      if (field === undefined || field === '\\N') continue
      fields[index] = mapField(field, (value) => mapValue(value, isArray, map))
    }
    return fields.join('\t')
  }
  const mapped = namesSchema(text, map.schema) ? text.split('\n').map(mapLine).join('\n') : text
  return Buffer.from(mapped, 'latin1')
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** The last field of a line has a return behind it where the script was written on Windows. */
function mapField(field: string, map: (value: string) => string): string {
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
    const value = bytes.toString('utf8', token.start + 1, token.end - 1).replaceAll("''", "'")
    mapped += bytes.toString('utf8', done, token.start) + quoteString(mapValue(value, column.isArray, map))
    done = token.end
  }
  return mapped + bytes.toString('utf8', done)
}

const QUOTE = 0x27

const mapValue = (value: string, isArray: boolean, map: NameMap): string =>
  isArray ? mapElements(value, map) : mapObjectName(value, map)

/** The elements of an array: in quotes where they need them. */
const mapElements = (array: string, map: NameMap): string =>
  array.replace(/"((?:[^"\\]|\\.)*)"|[^{},"\s]+/gs, (whole, quoted: string | undefined) => {
    const element = quoted?.replace(/\\(.)/gs, '$1') ?? whole
    const mapped = mapObjectName(element, map)
    return mapped === element ? whole : `"${escapeItem(mapped)}"`
  })
