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

/** Looks at everything at once, and logs why something failed. @returns what failed, by name. */
export async function runChecks(
  checks: ReadinessChecks,
  log: Logger,
  level: 'warn' | 'debug' = 'warn',
): Promise<ReadonlyMap<string, Fault>> {
  const run = async (entry: [string, ReadinessCheck]) =>
    [entry[0], await runCheck(entry, (fields) => log[level](fields, 'not ready'))] as const
  const faults = await Promise.all(Object.entries(checks).map(run))
  return new Map(faults.flatMap(([name, fault]) => (fault ? [[name, fault] as const] : [])))
}

async function runCheck(
  [name, check]: [string, ReadinessCheck],
  say: (fields: object) => void,
): Promise<Fault | undefined> {
  try {
    await within(CHECK_MS, check(AbortSignal.timeout(CHECK_MS)), () => {
      throw new Error(`no answer within ${CHECK_MS} ms`)
    })
    return undefined
  } catch (error) {
    say({ err: error, check: name })
    return { detail: `${name} ${isAppError(error, 'DATABASE_READ_ONLY') ? 'takes no writes' : 'does not answer'}` }
  }
}
