import type { Coding } from './coding.ts'

/** What a header such as `Accept` or `Accept-Encoding` names, in lower case. */
export interface Weighted {
  readonly name: string
  readonly parameters: readonly string[]
  /** From 0, which is not wanted at all, to 1. */
  readonly weight: number
}

/** @see RFC 9110, section 12.4.2 */
export const weightedList = (header: string): readonly Weighted[] =>
  header
    .toLowerCase()
    .split(',')
    .map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { name, parameters, weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })

/** Whether a client takes gzip, as its header `Accept-Encoding` has it. @see RFC 9110, section 12.5.3 */
export const takesGzip = (acceptEncoding: string | undefined): boolean => weightOf(acceptEncoding, 'gzip') > 0

/**
 * What a client prefers of `offered`, as its header `Accept-Encoding` has it; of what it likes as much, the first. Undefined
 * where it takes none of them.
 *
 * @see RFC 9110, section 12.5.3
 */
export function preferredCoding(acceptEncoding: string | undefined, offered: readonly Coding[]): Coding | undefined {
  let preferred: Coding | undefined
  let best = 0
  for (const coding of offered) {
    const weight = weightOf(acceptEncoding, coding)
    if (weight > best) [preferred, best] = [coding, weight]
  }
  return preferred
}

const weightOf = (acceptEncoding: string | undefined, coding: Coding): number =>
  Math.max(
    0,
    ...weightedList(acceptEncoding ?? '')
      .filter(({ name }) => name === coding || name === `x-${coding}`)
      .map(({ weight }) => weight || 0),
  )
