import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openSession } from '../../src/database/session-client.ts'
import type { SessionKind } from '../../src/database/session-settings.ts'
import { createLogger } from '../../src/logger.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { operatorOf } from '../support/database/operator.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'

/*
 * Every setting that a login can give itself is either set by each of Wharf's sessions, or the operator's or the database's
 * to choose.
 */

/** Of memory, planning, vacuum, statistics, the log and the disk: none changes what a statement means or may do. */
const OPERATORS =
  /^(enable_|cpu_|jit|geqo|vacuum_|debug_|log_|trace_|parallel_|(max|min)_parallel_|max_stack|(seq|random)_page_cost|join_|from_|cursor_|constraint_exclusion|default_statistics|work_mem|maintenance_|hash_mem|temp_buffers|effective_|io_|backend_flush|commit_|synchron|wal_|logical_decoding|gin_pending|recursive_worktable|plan_cache|stats_fetch|track_|file_copy|escape_string_warning|plpgsql.(extra_warnings|print_strict)|password_encryption|scram_iter|md5_password|local_preload|force_parallel|application_name)/

/** How a database is closed to writes; a project's sessions are asked for it in another way. */
const OPERATORS_IN_OWN_SESSIONS = /^default_transaction_read_only$/

/** Triggers and scripts of a project write by it, as they do with psql. */
const DATABASES = /^default_text_search_config$/

/** Of one transaction: they cannot be given to a session. */
const OF_TRANSACTIONS = /^transaction_(isolation|read_only|deferrable)$/

const HOSTILE_TEXTS: Readonly<Record<string, string>> = {
  DateStyle: 'German',
  TimeZone: 'Asia/Tokyo',
  timezone_abbreviations: 'India',
  client_encoding: 'LATIN1',
  search_path: 'nowhere',
  default_tablespace: 'pg_default',
  temp_tablespaces: 'pg_default',
  createrole_self_grant: 'set',
  restrict_nonsystem_relation_kind: 'view',
  'plpgsql.extra_errors': 'all',
}

/** Those for which a server may have no second value. */
const WITHOUT_CHOICE = /^(default_(table_access_method|toast_compression)|lc_(monetary|numeric|time))$/

interface Setting {
  readonly name: string
  readonly setting: string
  readonly vartype: string
  readonly enumvals: readonly string[] | null
  readonly min_val: string | null
  readonly max_val: string | null
}

/** PL/pgSQL's settings are there once it has been loaded. */
const settingsOf = async (database: TestDatabase): Promise<readonly Setting[]> => {
  await database.query('DO $$ BEGIN END $$')
  return database.query<Setting & Record<string, unknown>>(
    `SELECT name, setting, vartype, enumvals, min_val, max_val FROM pg_settings WHERE context = 'user' ORDER BY name`,
  )
}

const isWharfs = ({ name }: Setting): boolean =>
  ![OPERATORS, DATABASES, OF_TRANSACTIONS].some((others) => others.test(name))

/** Another value than the server's own. */
function hostileTo({ name, setting, vartype, enumvals, min_val, max_val }: Setting): string | undefined {
  if (vartype === 'bool') return setting === 'on' ? 'off' : 'on'
  if (vartype === 'enum') return enumvals?.find((value) => value !== setting)
  if (vartype === 'string') return HOSTILE_TEXTS[name]
  return (setting === min_val ? max_val : min_val) ?? undefined
}

const logger = createLogger('silent')

/** What a session of Wharf's has once it is open. */
async function valuesIn(database: TestDatabase, kind: SessionKind, names: readonly string[]) {
  const session = await openSession(database.url, { kind, applicationName: 'test', logger })
  try {
    await session.query('DO $$ BEGIN END $$')
    const { rows } = await session.query<{ name: string; setting: string }>(
      'SELECT name, setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name',
      [names],
    )
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
  } finally {
    await session.end()
  }
}

const programs = installedPrograms()

describe.each([
  ['the embedded PostgreSQL', undefined],
  ...(programs === undefined ? [] : [['the installed PostgreSQL', programs] as const]),
] as const)('on %s', (_, bin) => {
  let cluster: OwnCluster | undefined
  let plain: TestDatabase
  let hostile: TestDatabase
  let names: readonly string[]

  beforeAll(async () => {
    cluster = bin === undefined ? undefined : await startOwnCluster(bin)
    const create = cluster?.createDatabase ?? createTestDatabase
    plain = await create()
    hostile = await create()
    const settings = (await settingsOf(plain)).filter(isWharfs)
    names = settings.map(({ name }) => name)
    const values = settings.flatMap((setting) => {
      const value = hostileTo(setting)
      if (value === undefined && !WITHOUT_CHOICE.test(setting.name))
        throw new Error(`no other ${setting.name} is known`)
      return value === undefined ? [] : [[quoted(setting.name), value] as const]
    })
    await operatorOf(hostile).set(Object.fromEntries(values))
  })

  afterAll(async () => {
    await plain?.drop()
    await hostile?.drop()
    await cluster?.remove()
  })

  test.each(['wharf', 'queue', 'project'] as const)(
    'a session of the kind %s is the same whatever was set for the database',
    async (kind) => {
      const isSet = (name: string): boolean => kind === 'project' || !OPERATORS_IN_OWN_SESSIONS.test(name)
      const asked = names.filter(isSet)
      expect(asked.length).toBeGreaterThan(30)
      expect(await valuesIn(hostile, kind, asked)).toEqual(await valuesIn(plain, kind, asked))
    },
  )
})

const quoted = (name: string): string =>
  name
    .split('.')
    .map((part) => `"${part}"`)
    .join('.')
