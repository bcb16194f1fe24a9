import type { AppError } from '../../errors.ts'
import { LIMITS } from './limits.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { POSTGREST_SAYS } from './postgrest-words.ts'
import type { Reader } from './reader.ts'

/** A step into a JSON value: a key, or an index of an array. */
export interface PathStep {
  readonly key: string | number
  /** `->>`: gives text, and ends the path. */
  readonly asText: boolean
}

/** A column, or something inside one that holds JSON: `data->size->>width`. */
export interface Field {
  readonly name: string
  readonly path: readonly PathStep[]
  readonly position: number
}

export function parseField(reader: Reader): Field {
  reader.skipSpace()
  const { position } = reader
  return parsePath(reader, reader.name('a column'), position)
}

const INDEX = /-?\d{1,9}(?=$|->|::|[.,)])/y

/** Reads what follows the name of a column. */
export function parsePath(reader: Reader, name: string, position: number): Field {
  const path: PathStep[] = []
  while (reader.startsWith('->')) {
    if (path.at(-1)?.asText) throw pathIntoText(reader)
    if (path.length === LIMITS.pathSteps) throw reader.refused(`a path has at most ${LIMITS.pathSteps} steps`)
    reader.expect('->')
    const asText = reader.take('>')
    const index = reader.match(INDEX)
    path.push({ key: index ? Number(index[0]) : reader.key('a key or an index'), asText })
  }
  return { name, path, position }
}

function pathIntoText(reader: Reader): AppError {
  const { position } = reader
  const operator = reader.match(/->>?/y)?.[0] ?? ''
  const right = reader.match(INDEX) ? 'integer' : 'unknown'
  return reader.refused(
    '"->>" gives text, which a path does not lead into',
    position,
    POSTGREST.unknownOperator,
    POSTGREST_SAYS.unknownOperator('text', operator, right),
  )
}
