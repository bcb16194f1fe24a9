import type { IncomingMessage } from 'node:http'
import express from 'express'
import { AppError } from '../errors.ts'
import type { AnswerSpec, Answers } from './answer.ts'

/** The media types in which a route can answer. */
export const answerTypes = (answers: Answers): string[] => [
  ...new Set(Object.values(answers).flatMap((answer) => (answer.kind === 'empty' ? [] : mediaTypesOf(answer)))),
]

/** The media types of one answer. */
export const mediaTypesOf = (answer: Exclude<AnswerSpec, { readonly kind: 'empty' }>): readonly string[] =>
  answer.kind === 'bytes' ? [answer.mediaType, ...answer.otherTypes] : [answer.mediaType]

/**
 * Makes sure that the client takes one of the types in which a route can answer.
 *
 * @throws {AppError} NOT_ACCEPTABLE, with the types that there are.
 */
export function assertAcceptable(types: string[], request: IncomingMessage): void {
  const { accept } = request.headers
  if (accept === undefined || accept === '*/*' || types.length === 0) return
  if (Reflect.apply(express.request.accepts, request, [types])) return
  throw new AppError('NOT_ACCEPTABLE', `the Accept header leaves out ${types.join(' and ')}, and there is nothing else`)
}
