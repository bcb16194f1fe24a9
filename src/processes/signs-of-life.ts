import { hostname } from 'node:os'
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
  // One that was killed, and is started again, goes on with the same row.
  let isFirst = true
  const sign = async (): Promise<void> => {
    await control.prisma.$executeRaw`
      INSERT INTO control.process (id, parts, host, pid, version)
      VALUES (${id}::uuid, ${[...parts]}, ${hostname()}, ${process.pid}, ${version})
      ON CONFLICT (id) DO UPDATE
        SET (parts, host, pid, version) = (excluded.parts, excluded.host, excluded.pid, excluded.version), seen_at = now(),
            started_at = CASE WHEN ${isFirst} THEN now() ELSE process.started_at END`
    isFirst = false
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

/** The processes of the service that have been heard of, the oldest first. */
export const findProcesses = (control: Queryable): Promise<readonly ServiceProcess[]> =>
  control.$queryRaw<ServiceProcess[]>`
    SELECT parts, host, pid, version, started_at AS "startedAt" FROM control.process
     WHERE seen_at > now() - make_interval(secs => ${PATIENCE_SECONDS}) ORDER BY started_at, id`
