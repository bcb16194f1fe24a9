import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { tableExists, thenCommit } from './clients.ts'
import { sqlState } from './sqlstate.ts'

/**
 * How long a transaction waits for a lock, in milliseconds: later users of the table wait behind it meanwhile.
 * Shorter than `deadlock_timeout`, so that it is never another who fails.
 */
const SHORT_WAIT_MS = 500

/** The same when those who hold the lock are being ended: later users of the table wait until it has the lock. */
const LONG_WAIT_MS = 5_000

/** How long the others can go on then, in milliseconds, before it is tried again. */
const PAUSE_MS = 500

/** `lock_not_available` and `deadlock_detected`. */
const LOCK_FAILURE = /^(55P03|40P01)$/

/** How often it is looked who holds a lock, in milliseconds. */
const LOOK_MS = 50

export interface PatienceOptions {
  /** Another session of Wharf's own login, in no transaction. */
  readonly observer: pg.Client
  readonly logger: Logger
  /** What needs the locks, for the log. */
  readonly task: string
  /** When the waiting began, as `performance.now()` says it. */
  readonly sinceMs: number
  /** How long after that it is tried, in milliseconds. */
  readonly patienceMs: number
  /** How long after that the sessions of projects that hold a lock are ended, in milliseconds. */
  readonly endAfterMs: number
}

/**
 * Runs `use` in a transaction that waits for each lock for a moment only, so that nobody waits behind it for long. Where
 * one is not to be had, all of it is undone and run again.
 *
 * Transactions of projects that still hold a lock after a while are ended, so that no project can keep the others from
 * being served. Those of Wharf's own login, and of anybody else, are waited for.
 *
 * @param client in no transaction.
 * @throws {AppError} DATABASE_UNAVAILABLE with who holds the lock, where it is not to be had. Whatever `use` throws.
 */
export async function withPatienceForLocks(
  client: pg.Client,
  use: () => Promise<void>,
  options: PatienceOptions,
): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const pid = rows[0]?.pid ?? 0
  for (;;) {
    const waitedMs = performance.now() - options.sinceMs
    const ending = waitedMs >= options.endAfterMs
    const watch = await startWatching(pid, ending, options)
    try {
      await client.query('BEGIN')
      return await thenCommit(client, async () => {
        await client.query(`SET LOCAL lock_timeout = ${ending ? LONG_WAIT_MS : SHORT_WAIT_MS}`)
        await use()
      })
    } catch (error) {
      const blockers = await watch.stop()
      if (!LOCK_FAILURE.test(sqlState(error) ?? '')) throw error
      if (waitedMs > options.patienceMs) throw stillBlocked(options.task, blockers, error)
      options.logger.warn({ task: options.task, blockers }, 'others hold locks that the start needs; waiting for them')
    } finally {
      await watch.stop()
    }
    await delay(PAUSE_MS)
  }
}

interface Blocker {
  /** 0 for a transaction that was prepared, and has no session any more. */
  readonly pid: number
  readonly login: string | null
  readonly session: string | null
  /** How long its transaction has been open. */
  readonly seconds: number | null
}

interface Watch {
  /** Ends it. @returns who was seen to hold a lock the last time that anybody did. */
  stop(): Promise<readonly Blocker[]>
}

/** Looks who keeps a session waiting, and ends those of them that are projects' where it is asked to. */
async function startWatching(pid: number, ending: boolean, options: PatienceOptions): Promise<Watch> {
  // Read before it is tried: a migration may lock the table.
  const projects = ending ? await projectLogins(options.observer) : new Set<string>()
  const stopping = new AbortController()
  let last: readonly Blocker[] = []
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const blockers = await readBlockers(options.observer, pid)
      if (blockers.length > 0) last = blockers
      for (const blocker of blockers) {
        if (blocker.login !== null && projects.has(blocker.login)) await end(blocker, options)
      }
      await delay(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  })().catch((error: unknown) => options.logger.warn({ err: error }, 'it cannot be seen who holds a lock'))
  return {
    async stop() {
      stopping.abort()
      await watching
      return last
    },
  }
}

async function projectLogins(observer: pg.Client): Promise<ReadonlySet<string>> {
  if (!(await tableExists(observer, 'control.project'))) return new Set()
  const { rows } = await observer.query<{ login: string }>('SELECT login FROM control.project WHERE login IS NOT NULL')
  return new Set(rows.map(({ login }) => login))
}

async function readBlockers(observer: pg.Client, pid: number): Promise<readonly Blocker[]> {
  const { rows } = await observer.query<Blocker>(
    `SELECT DISTINCT blocker.pid, usename AS login, application_name AS session,
            extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
     FROM unnest(pg_blocking_pids($1)) AS blocker (pid) LEFT JOIN pg_stat_activity a ON a.pid = blocker.pid`,
    [pid],
  )
  return rows
}

async function end(blocker: Blocker, { observer, logger, task }: PatienceOptions): Promise<void> {
  logger.warn(
    { task, blocker },
    "ending a session of a project's login: it holds a lock that the start needs; what it did is undone",
  )
  await observer.query('SELECT pg_terminate_backend($1)', [blocker.pid])
}

function stillBlocked(task: string, blockers: readonly Blocker[], cause: unknown): AppError {
  const who = blockers.map(toText).join(', ')
  return new AppError(
    'DATABASE_UNAVAILABLE',
    `${task} needs a lock that others hold${who === '' ? '' : `: ${who}`}; nothing was changed. End them, and start again`,
    { cause, faults: blockers.map((blocker) => ({ detail: toText(blocker) })) },
  )
}

const toText = ({ pid, login, session, seconds }: Blocker): string =>
  pid === 0
    ? 'a prepared transaction, which ROLLBACK PREPARED ends (pg_prepared_xacts)'
    : `the session ${pid} of "${login ?? ''}" ("${session ?? ''}"), in a transaction for ${seconds ?? 0} s`
