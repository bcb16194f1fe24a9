import type pg from 'pg'
import { thenCommit, withClient } from '../database/clients.ts'
import { readClock } from '../database/clock.ts'
import type { Database } from '../database/database.ts'
import { resetSession } from '../database/session-client.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import type { Logger } from '../logger.ts'
import { LOG_SCHEMA } from './attached/log-names.ts'
import { moveLogStart } from './log-start.ts'
import { BEGIN_STEP, countExcess, findLogEnd, type LogLength, type LogStatement, removeUntil } from './shorten-log.ts'

/** Of Wharf's own logs. */
const OWN_SCHEMA = 'system'

/** How long one call goes on, in milliseconds: what is left then goes with the next. */
const PATIENCE_MS = 60_000

/** How many events a call removes of a log because there are too many. */
const MAX_EXCESS = 1_000_000

const DAY_MS = 24 * 60 * 60_000

interface ShorteningServices {
  readonly control: Pick<Database, 'prisma'>
  readonly system: Pick<Database, 'prisma' | 'pool'>
  /** Finds a project's database, as the project's own login sees it. */
  readonly projectDatabase: (
    project: { readonly id: string; readonly slug: string },
    use: 'imports',
  ) => Promise<{ readonly database: Pick<Database, 'pool'> }>
  readonly logger: Logger
}

interface ShortenedLog {
  readonly stageId: string
  /** The database that has it, and the schema there, as SQL. */
  readonly pool: pg.Pool
  readonly schema: string
  readonly length: LogLength
}

/**
 * Removes events that are too old, or too many, from the logs of all stages, the oldest first, in small steps of which each
 * is a transaction. What reads a log in a snapshot, as exports do, goes on reading all of it.
 *
 * @param standard for projects that have no length of their own.
 */
export async function shortenLogs(services: ShorteningServices, standard: LogLength): Promise<void> {
  const { control, system, projectDatabase, logger } = services
  const until = performance.now() + PATIENCE_MS
  const projects = await control.prisma.project.findMany({ include: { stages: true } })
  for (const { logDays, logEvents, stages, ...project } of projects) {
    const length = { days: logDays ?? standard.days, events: logEvents ?? standard.events }
    if (length.days === 0 && length.events === 0) continue
    for (const { id: stageId, loggedSince } of stages) {
      try {
        await shorten(services, { stageId, pool: system.pool, schema: OWN_SCHEMA, length }, until)
        if (!loggedSince) continue
        const { pool } = (await projectDatabase(project, 'imports')).database
        await shorten(services, { stageId, pool, schema: LOG_SCHEMA, length }, until)
      } catch (error) {
        // Somebody else is at it, or an import replaces it.
        if (sqlState(error) === SQLSTATE.lockNotAvailable) continue
        logger.warn({ err: error, project: project.slug }, 'an event log was not shortened; it is tried again later')
      }
    }
  }
}

async function shorten(
  { control, system }: ShorteningServices,
  { pool, length, ...log }: ShortenedLog,
  until: number,
): Promise<void> {
  const now = await readClock(control.prisma)
  const before = length.days === 0 ? null : new Date(now.getTime() - length.days * DAY_MS)
  let excess = await inStep(pool, (query) => countExcess(query, log, { keep: length.events, most: MAX_EXCESS }))
  let from = '0'
  while (performance.now() < until) {
    const part = { ...log, from }
    const end = await inStep(pool, async (query) => {
      const end = await findLogEnd(query, part, { before, excess })
      if (!end) return undefined
      // First: an archive must not say of a log that all of it is there.
      await moveLogStart(system.prisma, log.stageId, end.until)
      await removeUntil(query, part, end)
      return end
    })
    if (!end) return
    excess = Math.max(0, excess - end.events)
    from = end.position
  }
}

const inStep = <T>(pool: pg.Pool, use: (query: LogStatement) => Promise<T>): Promise<T> =>
  withClient(pool, async (client) => {
    await client.query(BEGIN_STEP)
    const result = await thenCommit(client, () =>
      use(
        async <Row extends object>(sql: string, parameters: readonly unknown[]) =>
          (await client.query(sql, [...parameters])).rows as Row[],
      ),
    )
    // In another database than Wharf's, whatever its owner has put behind these tables may have changed the session.
    await resetSession(client)
    return result
  })
