import { wrongUse } from '../errors.ts'

/** @throws {AppError} WRONG_USE for what is no whole number from 1. */
export function toCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw wrongUse(`${option} must be a whole number from 1`)
}
