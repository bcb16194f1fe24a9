import pg from 'pg'
import { z } from 'zod'
import { isRaised } from '../database/sqlstate.ts'
import { Raised } from '../errors.ts'
import { parseJson } from '../lib/parse-json.ts'

/** A code that is a status: of those that blame the client, since the others are the service's own to say. */
const STATUS = /^PT(4\d\d)$/

/** How PostgREST has an error of an application's own raised: `RAISE SQLSTATE 'PGRST'`, with JSON in MESSAGE and DETAIL. */
const messageSchema = z.object({
  code: z.string(),
  message: z.string(),
  details: z.string().nullish(),
  hint: z.string().nullish(),
})
const detailSchema = z.object({ status: z.int().min(400).max(499) })

/**
 * What a function or a trigger of the project raised to be answered with a status of its choice.
 *
 * @returns undefined where the failure is another one.
 * @see https://docs.postgrest.org/en/stable/references/errors.html#custom-errors
 */
export function raisedFailure(error: unknown): Raised | undefined {
  if (!(error instanceof pg.DatabaseError) || !isRaised(error)) return undefined
  const { code = '', message, detail, hint } = error
  const status = STATUS.exec(code)?.[1]
  if (status !== undefined) {
    return new Raised(message, Number(status), { code, details: detail ?? null, hint: hint ?? null }, { cause: error })
  }
  if (code !== 'PGRST') return undefined
  const said = messageSchema.safeParse(parseJson(message)).data
  const answer = detailSchema.safeParse(parseJson(detail ?? '')).data
  if (!said || !answer) return undefined
  const { details = null, hint: help = null } = said
  return new Raised(said.message, answer.status, { code: said.code, details, hint: help }, { cause: error })
}
