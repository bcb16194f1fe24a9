import type { Container } from '../container.ts'
import { type Fault, isAppError } from '../errors.ts'
import { within } from '../lib/within.ts'
import type { Logger } from '../logger.ts'

/** How long what is looked at may take to answer, in milliseconds. */
const CHECK_MS = 2_000

/** Resolves if what it looks at answers. @param signal aborted when nobody waits any more. */
export type ReadinessCheck = (signal: AbortSignal) => Promise<unknown>

export type ReadinessChecks = Readonly<Record<string, ReadinessCheck>>

/** What a process depends on: the connections to the database that are there, and one more; and the queue. */
export function readinessOf({ control, assertDatabaseReady, queue }: Container): {
  readonly database: ReadinessCheck
  readonly queue: ReadinessCheck
} {
  return {
    database: () => Promise.all([control.prisma.$queryRaw`SELECT 1`, assertDatabaseReady()]),
    queue: () => queue.assertAvailable(),
  }
}

/**
 * Looks at everything at once. Why something fails is logged when it begins, and when it is over: balancers ask every second
 * or so.
 *
 * @returns what failed, by name.
 */
export function createChecks(
  checks: ReadinessChecks,
  level: 'warn' | 'debug' = 'warn',
): (log: Logger) => Promise<ReadonlyMap<string, Fault>> {
  const failing = new Set<string>()
  const run = async ([name, check]: [string, ReadinessCheck], log: Logger): Promise<readonly [string, Fault][]> => {
    const error = await failureOf(check)
    if (error === undefined) {
      if (failing.delete(name) && level === 'warn') log.info({ check: name }, 'ready again')
      return []
    }
    log[failing.has(name) ? 'debug' : level]({ err: error, check: name }, 'not ready')
    failing.add(name)
    return [
      [name, { detail: `${name} ${isAppError(error, 'DATABASE_READ_ONLY') ? 'takes no writes' : 'does not answer'}` }],
    ]
  }
  return async (log) => {
    const found = await Promise.all(Object.entries(checks).map((entry) => run(entry, log)))
    return new Map(found.flat())
  }
}

async function failureOf(check: ReadinessCheck): Promise<Error | undefined> {
  try {
    await within(CHECK_MS, check(AbortSignal.timeout(CHECK_MS)), () => {
      throw new Error(`no answer within ${CHECK_MS} ms`)
    })
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
