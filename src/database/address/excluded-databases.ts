import { wrongUse } from '../../errors.ts'

/** An address of a server all of whose databases are meant. */
export interface ServerAddress {
  /** What is left of it is an address as libpq knows them. */
  readonly address: string
  /** Patterns of the databases that are not meant. */
  readonly excluded: readonly string[]
}

/** The database in which the others of a server are looked for, where none is named. */
export const USUAL_DATABASE = 'postgres'

const PARAMETER = 'exclude'

/** What divides patterns: a comma that is not in double quotes. */
const PATTERN = /(?:"(?:[^"]|"")*"|[^,"])+/gu

/**
 * Takes the parameter `exclude` out of an address, which libpq does not know.
 *
 * @throws {AppError} WRONG_USE; nothing of the address is quoted.
 */
export function takeExcluded(text: string): ServerAddress {
  const start = text.indexOf('?')
  if (start < 0) return { address: text, excluded: [] }
  const pairs = text.slice(start + 1).split('&')
  const isExclude = (pair: string): boolean => pair.startsWith(`${PARAMETER}=`)
  const left = pairs.filter((pair) => !isExclude(pair)).join('&')
  const excluded = pairs.filter(isExclude).flatMap((pair) => toPatterns(pair.slice(PARAMETER.length + 1)))
  return { address: text.slice(0, start) + (left === '' ? '' : `?${left}`), excluded: [...new Set(excluded)] }
}

/** Puts patterns into an address that has none. */
export function withExcluded({ address, excluded }: ServerAddress): string {
  if (excluded.length === 0) return address
  const parameter = `${PARAMETER}=${encodeURIComponent(excluded.join(','))}`
  return `${address}${address.includes('?') ? '&' : '?'}${parameter}`
}

function toPatterns(encoded: string): readonly string[] {
  const patterns = decode(encoded).match(PATTERN) ?? []
  if (patterns.join(',') !== decode(encoded)) {
    throw wrongUse(
      'exclude of the address is not understood: expected names of databases or patterns, with commas between',
    )
  }
  return patterns
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrongUse('exclude of the address has a "%" that does not begin an encoded character')
  }
}
