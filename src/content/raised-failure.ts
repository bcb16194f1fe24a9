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
const detailSchema = z.object({ status: z.int().min(100).max(599) })

/** For what was raised with a status that is not for the project to say. */
const REFUSED = 400

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
  if (!said) return malformed(`Invalid JSON value for MESSAGE: '${message}'`, MESSAGE_FORM, error)
  const answer = detailSchema.safeParse(parseJson(detail ?? '')).data
  if (!answer) {
    const problem = detail ? `Invalid JSON value for DETAIL: '${detail}'` : 'DETAIL is missing in the RAISE statement'
    return malformed(problem, DETAIL_FORM, error)
  }
  const { details = null, hint: help = null } = said
  const isClients = answer.status >= 400 && answer.status <= 499
  const raised = { code: said.code, details, hint: help }
  return new Raised(said.message, isClients ? answer.status : REFUSED, raised, { cause: error })
}

const MESSAGE_FORM =
  "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
const DETAIL_FORM =
  "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."

/** As PostgREST says it, with a status of its own. */
function malformed(details: string, hint: string, cause: pg.DatabaseError): Raised {
  const message = `Could not parse JSON in the "RAISE SQLSTATE 'PGRST'" error`
  return new Raised(message, REFUSED, { code: 'PGRST121', details, hint }, { cause })
}
