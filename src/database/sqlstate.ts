import pg from 'pg'
import { z } from 'zod'

/** What Prisma's adapter throws, as it is where a transaction could not be begun or committed. */
const adapterErrorSchema = z.object({
  cause: z.object({
    kind: z.string(),
    originalCode: z.string().optional(),
    originalMessage: z.string().optional(),
  }),
})

/** Prisma's raw queries have one code for every failure; what it was stands here. */
const prismaErrorSchema = z.object({ meta: z.object({ driverAdapterError: adapterErrorSchema }) })

/** What the driver said of a failure that came through Prisma: its kind, and PostgreSQL's code and message. */
export const driverErrorOf = (error: unknown): z.infer<typeof adapterErrorSchema>['cause'] | undefined =>
  (adapterErrorSchema.safeParse(error).data ?? prismaErrorSchema.safeParse(error).data?.meta.driverAdapterError)?.cause

/** What `RAISE` of PL/pgSQL gives an exception that is given no code. */
const RAISED = 'P0001'

/**
 * Whether an exception is one that a function of a project raised by itself: it can give it any code, also one by which
 * PostgreSQL says that it shuts down. Known by where in PostgreSQL it comes from.
 */
export const isRaised = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.routine === 'exec_stmt_raise' && !OF_WHARF.test(error.where ?? '')

/** How the context begins of what Wharf's own functions raise. What projects name with such signs is in quotes there. */
const OF_WHARF = /^[^"\n]*\bwharf\.\w+\(/

/**
 * PostgreSQL's code for a failure, whether it comes from `pg` or through Prisma; undefined for other failures. All
 * exceptions that a project's functions raise by themselves have the same one, whatever code they were given.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const sqlState = (error: unknown): string | undefined => (isRaised(error) ? RAISED : shownSqlState(error))

/** The same for people and programs of a project: with the code that an exception was given. */
export function shownSqlState(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code
  return driverErrorOf(error)?.originalCode
}

/** PostgreSQL's own message for a failure; undefined where PostgreSQL did not say anything. */
export function sqlMessage(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.message
  return driverErrorOf(error)?.originalMessage
}

/** The codes that Wharf handles by themselves. */
export const SQLSTATE = {
  insufficientPrivilege: '42501',
  invalidAuthorization: '28000',
  invalidPassword: '28P01',
  dependentObjectsStillExist: '2BP01',
  foreignKeyViolation: '23503',
  uniqueViolation: '23505',
  undefinedTable: '42P01',
  undefinedObject: '42704',
  undefinedFunction: '42883',
  undefinedSchema: '3F000',
  unknownDatabase: '3D000',
  notInRequiredState: '55000',
  objectInUse: '55006',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  readOnlyTransaction: '25006',
  internalError: 'XX000',
  invalidParameterValue: '22023',
  characterNotInRepertoire: '22021',
  untranslatableCharacter: '22P05',
  featureNotSupported: '0A000',
  protocolViolation: '08P01',
  unknownStatement: '26000',
  duplicateStatement: '42P05',
} as const

/** Whether a row was refused since there is one with the same key. */
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === SQLSTATE.uniqueViolation

/** Whether a row was refused since what it belongs to is not there. */
export const isForeignKeyViolation = (error: unknown): boolean => sqlState(error) === SQLSTATE.foreignKeyViolation

/**
 * Whether what a statement names was altered, renamed or dropped by somebody since it was looked at. PostgreSQL does not lock
 * all of which it says how it is: it says "tuple concurrently updated" or "cache lookup failed" then, or that it is not there.
 */
export const isChangedMeanwhile = (error: unknown): boolean => CHANGED_MEANWHILE.has(sqlState(error) ?? '')

const CHANGED_MEANWHILE: ReadonlySet<string> = new Set([
  SQLSTATE.internalError,
  SQLSTATE.undefinedObject,
  SQLSTATE.undefinedTable,
  SQLSTATE.undefinedFunction,
])

/** Whether PostgreSQL does not take a value for what it is: of the wrong form, too long, or not UTF-8. */
export const isDataException = (error: unknown): boolean => /^(22|54)/.test(sqlState(error) ?? '')
