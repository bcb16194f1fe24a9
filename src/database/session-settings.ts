import { quoteIdentifier, quoteLiteral } from './quoting.ts'

/** Whose session it is, and what it is for. */
export type SessionKind =
  /** Wharf's own login on its own tables. */
  | 'wharf'
  /** Wharf's own login on the tables of the queue. */
  | 'queue'
  /** A project's login, on the project's stages. */
  | 'project'
  /** A login of somebody's, in a database that is not Wharf's. */
  | 'attached'
  /** The same at first, until it is known that nobody else gets what is set in it: a pooler would hand it on. */
  | 'bare'

type Settings = Readonly<Record<string, string>>

/**
 * The settings under which values have the text that the archive format asks for; money and dates are read by them,
 * too.
 */
export const TEXT_FORM_SETTINGS: Settings = {
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  timezone_abbreviations: 'Default',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  xmlbinary: 'base64',
  // CONTENT takes whole documents too, with their DOCTYPE; DOCUMENT would refuse fragments.
  xmloption: 'content',
  // Decides how regclass and its kin are written.
  quote_all_identifiers: 'off',
  array_nulls: 'on',
}

/** What any statement means, and how long it may take, in every session. */
const COMMON: Settings = {
  ...TEXT_FORM_SETTINGS,
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  transform_null_equals: 'off',
  gin_fuzzy_search_limit: '0',
  exit_on_error: 'off',
  // A session whose client vanished silently, as with its machine, ends within a minute.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  // It would also end an export whose reader pauses.
  tcp_user_timeout: '0',
  client_min_messages: 'warning',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  default_tablespace: '',
  temp_tablespaces: '',
  default_table_access_method: 'heap',
  default_toast_compression: 'pglz',
  check_function_bodies: 'on',
  'plpgsql.extra_errors': 'none',
  'plpgsql.check_asserts': 'on',
  // In whose name rows are written is said per transaction.
  'wharf.token_id': '',
  role: 'none',
}

/**
 * What a process that ended was doing ends within seconds, whether its statement runs or waits. A server on a system
 * that cannot tell, such as Windows, refuses it.
 */
export const CLIENT_CHECK = `SET client_connection_check_interval = '2s'`

/** The form in which a server says its version at the beginning of a session. */
const VERSION = /^(\d+)(?:\.(\d+))?/

/** Settings that older servers do not know and refuse, with the major version that brought them. */
const NEWER: readonly { readonly since: number; readonly settings: Settings }[] = [
  { since: 16, settings: { createrole_self_grant: '', icu_validation_level: 'warning' } },
  { since: 17, settings: { transaction_timeout: '0' } },
]

/** A setting that came to older major versions, too: by those, the minor version that brought it. */
const MINOR_WITH_RESTRICTED_KINDS: Readonly<Record<number, number>> = { 14: 13, 15: 8, 16: 4 }

/**
 * A policy is an error to Wharf's own login, and in databases that are not Wharf's, and is never evaluated: rows that it
 * hides would be missing, and nobody would know. Names are only looked up where nobody else makes
 * any.
 *
 * `default_transaction_read_only` is left as the operator has it: that is how a database is closed to writes. A
 * project's login could set it for itself, so it counts for nothing there (`assertTakesWrites` asks for the operator's).
 */
const BY_KIND: Readonly<Record<Exclude<SessionKind, 'bare'>, Settings>> = {
  wharf: { row_security: 'off', search_path: 'pg_catalog' },
  // No project can lock its tables. A statement that somebody else keeps waiting fails, and BullMQ, or the sweep, tries again.
  // One whose process stands still in a transaction ends, so that its locks do not stop the queue of all.
  // Nor does it wait for the disk: what a crash of the server takes from the queue, the sweep puts there again from the
  // records of jobs, and a job that it brings back has ended by its record. Its locks are held for less long, too.
  queue: {
    row_security: 'off',
    search_path: 'bullmq',
    synchronous_commit: 'off',
    lock_timeout: '5s',
    idle_in_transaction_session_timeout: '10s',
  },
  project: { row_security: 'on', search_path: 'pg_catalog', default_transaction_read_only: 'off' },
  attached: { row_security: 'off', search_path: 'pg_catalog' },
}

/**
 * The statements that give a session every setting that the meaning of its statements depends on, whatever the server,
 * the database and the role say. None of them reads a table of anybody's, or looks a name up outside `pg_catalog`.
 *
 * They are sent after connecting, not in the startup packet: poolers refuse that, and a server refuses the whole
 * session for a setting that it does not know.
 *
 * @param version the server's own, such as `18.1 (Debian 18.1-1)`.
 */
export function sessionSettings(kind: Exclude<SessionKind, 'bare'>, version: string): string {
  const [major = 0, minor = 0] = (VERSION.exec(version) ?? []).slice(1).map((part) => Number(part ?? 0))
  const newer = NEWER.filter(({ since }) => major >= since).map(({ settings }) => settings)
  const knowsKinds = minor >= (MINOR_WITH_RESTRICTED_KINDS[major] ?? 0)
  const kinds: Settings = knowsKinds ? { restrict_nonsystem_relation_kind: '' } : {}
  const settings: Settings = Object.assign({}, COMMON, ...newer, kinds, BY_KIND[kind])
  return Object.entries(settings)
    .map(([name, value]) => `SET ${name.split('.').map(quoteIdentifier).join('.')} = ${quoteLiteral(value)}`)
    .join('; ')
}
