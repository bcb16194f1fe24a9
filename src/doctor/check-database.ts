import type pg from 'pg'
import { findLastBackup } from '../backup/installation.ts'
import { assertBackupCron } from '../backup/start-backups.ts'
import type { Config } from '../config.ts'
import { type FoundKeys, findSecretKeys } from '../data-folder/secrets.ts'
import { assertTriggersFire } from '../database/assert-triggers-fire.ts'
import { tableExists } from '../database/clients.ts'
import { readClock } from '../database/clock.ts'
import type { Database } from '../database/database.ts'
import { loginUrl } from '../database/login-databases.ts'
import { assertNotNewer, MIGRATIONS_TABLE, missingMigrations } from '../database/migrations.ts'
import { openDatabase } from '../database/open-database.ts'
import { assertMayMigrate, assertOwnsTables, assertVersion } from '../database/preparation.ts'
import { openSession } from '../database/session-client.ts'
import { SQLSTATE, sqlState } from '../database/sqlstate.ts'
import { checkSecretKeys } from '../jobs/check-secret-keys.ts'
import { nextRuns } from '../jobs/schedules/cron.ts'
import { createSeal, type Seal, SealBroken } from '../lib/seal.ts'
import { formatCounted } from '../lib/units.ts'
import type { Logger } from '../logger.ts'
import { assertMayCreateLogins } from '../projects/project-login.ts'
import { projectLogin } from '../projects/projects.ts'
import { findLackingLogins } from '../projects/restore-logins.ts'
import { type Checked, check, fault, ok, sentenceOf, skipped, warning } from './check.ts'
import { checkAttached } from './check-attached.ts'

const CONNECT_MS = 5_000

/** How many logins of projects are tried. */
const MAX_TRIED = 20

/** How far the clocks may be apart, in milliseconds. */
const CLOCK_MS = 2_000

type Said = Omit<Checked, 'name'>

/** What is to be looked at in a database. */
export interface DatabaseToCheck {
  readonly config: Pick<
    Config,
    'dataDir' | 'secretKey' | 'previousSecretKeys' | 'backupKey' | 'backupCron' | 'transferHosts'
  >
  readonly url: string
  /** What to do where it cannot be reached. */
  readonly advice: string
  readonly logger: Logger
}

/** Looks at the database, and at what is in it. One that cannot be reached is one fault, and the rest is skipped. */
export async function checkDatabase(target: DatabaseToCheck): Promise<readonly Checked[]> {
  const session = { kind: 'wharf', applicationName: 'wharf doctor', connectTimeoutMs: CONNECT_MS } as const
  let client: pg.Client | undefined
  const reached = await check('database', target.advice, async () => {
    client = await openSession(target.url, { ...session, logger: target.logger })
    await assertVersion(client)
    return describe(client)
  })
  if (!client) return [reached]
  try {
    return [reached, ...(reached.status === 'fault' ? [] : await checkReached(client, target))]
  } finally {
    await Promise.allSettled([client.end()])
  }
}

async function describe(client: pg.Client): Promise<Said> {
  const { rows } = await client.query<{ version: string; database: string; login: string; closed: boolean }>(
    `SELECT current_setting('server_version') AS version, current_database() AS database, current_user AS login,
            current_setting('transaction_read_only') = 'on' AS closed`,
  )
  const { version = '', database = '', login = '', closed = false } = rows[0] ?? {}
  if (!closed) return ok(`PostgreSQL ${version}, database ${database}, login ${login}`)
  return fault(
    `the database "${database}" takes no writes: use the primary server, or unset default_transaction_read_only`,
  )
}

async function checkReached(client: pg.Client, target: DatabaseToCheck): Promise<readonly Checked[]> {
  const control = openDatabase(target.url, { maxConnections: 2, session: 'wharf' }, { logger: target.logger })
  try {
    const clock = await checkClock(client, Date.now)
    const rights = await checkRights(client, control)
    const migrations = await checkMigrations(client)
    // What is in tables that another version has made, nobody here can read.
    if (rights.status === 'fault' || migrations.status !== 'ok') return [clock, rights, migrations]
    return [clock, rights, migrations, ...(await checkContents(control, target))]
  } finally {
    await Promise.allSettled([control.close()])
  }
}

const checkRights = (client: pg.Client, control: Database): Promise<Checked> =>
  check('rights in the database', 'see what the message names', async () => {
    await assertMayMigrate(client)
    await assertOwnsTables(client)
    await assertMayCreateLogins(control.prisma)
    if (await tableExists(client, 'control.project')) await assertTriggersFire(client)
    const { rows } = await client.query<{ superuser: boolean }>(
      'SELECT rolsuper AS superuser FROM pg_roles WHERE rolname = current_user',
    )
    if (!rows[0]?.superuser) return ok('tables, schemas and logins can be made')
    return warning("Wharf's login is a superuser, which it need not be: give it a login with CREATEROLE")
  })

const checkMigrations = (client: pg.Client): Promise<Checked> =>
  check('migrations', 'see what the message names', async () => {
    await assertNotNewer(client)
    const missing = await missingMigrations(client)
    if (missing.length === 0) return ok('all are applied')
    if (!(await tableExists(client, MIGRATIONS_TABLE)))
      return warning('the database is empty: the first start makes its tables')
    return warning(
      `${formatCounted(missing.length, 'migration')} from ${missing[0]} on: back up the database; the next start applies them`,
    )
  })

/**
 * Compares this machine's clock with the database's, which counts for all that is stored.
 *
 * @param now this machine's, in milliseconds.
 */
export const checkClock = (client: pg.Client, now: () => number): Promise<Checked> =>
  check('clock', 'see that the database answers', async () => {
    const before = now()
    const { rows } = await client.query<{ ms: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
    )
    const after = now()
    const theirs = rows[0]?.ms ?? Number.NaN
    // It was asked somewhere in between.
    const apart = Math.max(before - theirs, theirs - after, 0)
    if (apart <= CLOCK_MS) return ok('like that of the database')
    return warning(
      `${Math.round(apart / 1_000)} s apart from that of the database: have both machines synchronise theirs (NTP); ` +
        'buckets refuse requests of a clock that is wrong',
    )
  })

async function checkContents(control: Database, target: DatabaseToCheck): Promise<readonly Checked[]> {
  const keys = await findSecretKeys(target.config)
  const seal = keys.current === undefined ? undefined : createSeal(keys.current, keys.previous)
  return [
    await check('backup of Wharf itself', 'see that the database answers', () => checkBackups(control, target)),
    await check('secret key', 'put the file back from a backup, or set WHARF_SECRET_KEY', () =>
      checkSecrets(control, keys),
    ),
    await check('logins of projects', 'start Wharf, which makes again what is missing, and says what it cannot', () =>
      checkLogins(control, seal, target),
    ),
    await check('attached databases', 'see that the database answers', () =>
      checkAttached(control, seal, { allowedHosts: target.config.transferHosts, logger: target.logger }),
    ),
  ]
}

/** Whether the last backup is not older than the one that is due should let it be. */
async function checkBackups({ prisma }: Database, { config }: DatabaseToCheck): Promise<Said> {
  const { recoveredFrom } = await prisma.installation.findFirstOrThrow()
  if (recoveredFrom !== null) {
    return fault(
      `a recovery from ${recoveredFrom} has not ended: run "wharf recover" again, with --backup and this name`,
    )
  }
  if (config.backupKey === undefined) return skipped('set WHARF_BACKUP_KEY to have backups of Wharf itself')
  const { backupCron: cron } = config
  if (cron !== undefined) assertBackupCron(cron)
  const now = await readClock(prisma)
  const last = await findLastBackup(prisma, { until: now })
  if (!last && cron === undefined) return warning('there is none yet: WHARF_BACKUP_CRON is off, so run "wharf backup"')
  if (!last) return warning('there is none yet: workers with WHARF_BACKUP_KEY write one, and so does "wharf backup"')
  const age = now.getTime() - last.beganAt.getTime()
  const said = `the last one is of ${last.beganAt.toISOString()}`
  if (cron === undefined) return ok(said)
  const [due, after] = nextRuns({ cron, timezone: 'UTC' }, last.beganAt, 2)
  if (!due || !after || age < after.getTime() - last.beganAt.getTime()) return ok(said)
  return fault(`${said}, and two have been due since: see the log of the workers, and that they have WHARF_BACKUP_KEY`)
}

async function checkSecrets(control: Database, keys: FoundKeys): Promise<Said> {
  const { read, fault: found } = await checkSecretKeys(control, keys)
  if (found !== undefined) return fault(found)
  if (keys.current === undefined) return skipped('the first start makes one')
  return ok(`${keys.source} opens ${formatCounted(read, 'stored secret')}`)
}

async function checkLogins(control: Database, seal: Seal | undefined, target: DatabaseToCheck): Promise<Said> {
  const lacking = await findLackingLogins(control.prisma)
  if (lacking.length > 0) {
    const named = lacking.map(({ slug, isThere, hasDatabase }) => `${slug} (${lacks(isThere, hasDatabase)})`)
    return fault(
      `projects cannot be used: ${named.slice(0, 10).join(', ')}${named.length > 10 ? ' and more' : ''}. Start Wharf again, ` +
        'which repairs them, or says what it cannot; databases that are missing have to be restored',
    )
  }
  const projects = await control.prisma.project.findMany({
    where: { login: { not: null }, unfinished: false },
    orderBy: { slug: 'asc' },
    select: { id: true, slug: true },
  })
  if (!seal) return skipped('they cannot be tried without the secret key')
  for (const project of projects.slice(0, MAX_TRIED)) {
    const problem = await tryLogin(control, seal, project, target)
    if (problem) return problem
  }
  return ok(`${formatCounted(projects.length, 'login')} with all rights, ${Math.min(projects.length, MAX_TRIED)} tried`)
}

const lacks = (isThere: boolean, hasDatabase: boolean): string => {
  if (!isThere) return 'its login is missing'
  return hasDatabase ? 'its login lacks rights' : 'its database is missing'
}

/** @returns what is wrong, if anything. */
async function tryLogin(
  control: Database,
  seal: Seal,
  project: { readonly id: string; readonly slug: string },
  { url, logger }: Pick<DatabaseToCheck, 'url' | 'logger'>,
): Promise<Said | undefined> {
  try {
    const login = await projectLogin(control.prisma, seal, project)
    if (!login) return undefined
    const session = { kind: 'bare', applicationName: 'wharf doctor', connectTimeoutMs: CONNECT_MS } as const
    const client = await openSession(loginUrl(url, login), { ...session, logger })
    await client.end()
    return undefined
  } catch (error) {
    // The secret key has a check of its own.
    if (error instanceof SealBroken) return skipped('they cannot be tried without the secret key')
    if (sqlState(error) === SQLSTATE.invalidPassword) {
      return warning(`the password of project "${project.slug}" was changed: a service that runs restores it by itself`)
    }
    return fault(
      `the login of project "${project.slug}" cannot log in (${sentenceOf(error)}): see that pg_hba.conf, and a pooler, let in ` +
        'the logins of projects, whose names begin with "wharf_"',
    )
  }
}
