import { hostname } from 'node:os'
import { isAlive } from '../data-folder/process-identity.ts'
import type { Database, Queryable } from '../database/database.ts'
import { type Repeating, repeat } from '../lib/repeat.ts'
import type { Logger } from '../logger.ts'
import { createOutageLog } from '../outage-log.ts'

/** How long a process counts as running without a sign of life, in seconds. */
export const PATIENCE_SECONDS = 60

const OUTAGE = {
  begins: 'the database cannot be used: what needs it waits, or is refused, until it answers again',
  goesOn: 'the database still cannot be used',
  ends: 'the database answers again',
}

/** A process of the service. */
export interface ServiceProcess {
  /** What it does: `api`, `worker`. */
  readonly parts: readonly string[]
  readonly host: string
  readonly pid: number
  /** Wharf's own. */
  readonly version: string
  readonly startedAt: Date
}

/**
 * Writes again and again that this process runs, so that those who ask how the service does can see it. It says so, too,
 * when it ends; one that is killed is forgotten after a while. Where it cannot be written, the database is away, and the log
 * says that once for all that needs it.
 *
 * @param parts what this process does.
 */
export function startSignsOfLife(
  services: {
    readonly control: Database
    readonly logger: Logger
    readonly version: string
    readonly processId: string
    readonly jobTimings: { readonly signMs: number }
  },
  parts: readonly string[],
): Repeating {
  const { control, logger, version, processId: id, jobTimings } = services
  let isFirst = true
  const sign = async (): Promise<void> => {
    if (isFirst) await forgetKilled(control.prisma)
    isFirst = false
    await control.prisma.$executeRaw`
      INSERT INTO control.process (id, parts, host, pid, version)
      VALUES (${id}::uuid, ${[...parts]}, ${hostname()}, ${process.pid}, ${version})
      ON CONFLICT (id) DO UPDATE SET seen_at = now()`
    await control.prisma.$executeRaw`DELETE FROM control.process WHERE seen_at < now() - interval '1 hour'`
  }
  const failures = createOutageLog({
    logger,
    words: OUTAGE,
    isOver: () => control.prisma.$queryRaw`SELECT 1`,
    everyMs: jobTimings.signMs,
  })
  const signing = repeat(jobTimings.signMs, sign, (error) => failures.note(error))
  return {
    async stop() {
      failures.stop()
      await signing.stop()
      await Promise.allSettled([control.prisma.process.deleteMany({ where: { id } })])
    },
  }
}

/**
 * Removes the signs of life of processes of this machine, or container, that run no more: what takes over from one that was
 * killed need not wait until it is forgotten. One of another container with the same name is back with its next sign.
 */
async function forgetKilled(control: Queryable): Promise<void> {
  const here = await control.process.findMany({ where: { host: hostname() } })
  const killed = here.filter(({ pid, startedAt }) =>
    // In a container, each has the same.
    pid === process.pid ? startedAt.getTime() < performance.timeOrigin : !isAlive(pid),
  )
  await control.process.deleteMany({ where: { id: { in: killed.map(({ id }) => id) } } })
}

/** The processes of the service that have been heard of, the oldest first. */
export const findProcesses = (control: Queryable): Promise<readonly ServiceProcess[]> =>
  control.$queryRaw<ServiceProcess[]>`
    SELECT parts, host, pid, version, started_at AS "startedAt" FROM control.process
     WHERE seen_at > now() - make_interval(secs => ${PATIENCE_SECONDS}) ORDER BY started_at, id`
