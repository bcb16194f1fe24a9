import { notAcceptable } from '../errors.ts'
import { weightedList } from '../lib/weighted-list.ts'
import type { AnswerSpec, Answers } from './answer.ts'

/** The media types in which a route can answer. */
export const answerTypes = (answers: Answers): string[] => [
  ...new Set(Object.values(answers).flatMap((answer) => (answer.kind === 'empty' ? [] : mediaTypesOf(answer)))),
]

/** The media types of one answer. */
export const mediaTypesOf = (answer: Exclude<AnswerSpec, { readonly kind: 'empty' }>): readonly string[] =>
  answer.kind === 'json' ? [answer.mediaType] : [answer.mediaType, ...answer.otherTypes]

/**
 * Makes sure that the client takes one of the types in which a route can answer.
 *
 * @param accept the header `Accept`; without one, the client takes everything.
 * @throws {AppError} NOT_ACCEPTABLE, with the types that there are.
 * @see RFC 9110, section 12.5.1
 */
export function assertAcceptable(types: readonly string[], accept: string | undefined): void {
  if (!accept || accept === '*/*' || types.length === 0) return
  const ranges = weightedList(accept)
  const isAccepted = (type: string): boolean => {
    // The most specific range counts.
    const [range] = [type, `${type.split('/')[0]}/*`, '*/*'].flatMap(
      (name) => ranges.find((each) => each.name === name) ?? [],
    )
    return range !== undefined && range.weight > 0
  }
  if (!types.some(isAccepted)) throw notAcceptable(types)
}
