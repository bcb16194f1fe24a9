import { quoteIdentifier, quoteLiteral } from './quoting.ts'

/** Whose session it is, and what it is for. */
export type SessionKind =
  /** Wharf's own login on its own tables. */
  | 'wharf'
  /** Wharf's own login on the tables of the queue. */
  | 'queue'
  /** A project's login, on the project's stages. */
  | 'project'

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
  // A session whose client is gone without a word, as with its machine, ends within a minute.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  client_min_messages: 'warning',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  default_tablespace: '',
  temp_tablespaces: '',
  default_table_access_method: 'heap',
  default_toast_compression: 'pglz',
  check_function_bodies: 'on',
  'plpgsql.extra_errors': 'none',
  // In whose name rows are written is said per transaction.
  'wharf.token_id': '',
  role: 'none',
  ...TEXT_FORM_SETTINGS,
}

/**
 * What a process that ended was doing ends within seconds, whether its statement runs or waits. A server on a system
 * that cannot tell, such as Windows, refuses it.
 */
export const CLIENT_CHECK = `SET client_connection_check_interval = '2s'`

/** Settings that older versions do not know, with the version that brought them. */
const NEWER: readonly { readonly since: number; readonly settings: Settings }[] = [
  { since: 16, settings: { createrole_self_grant: '' } },
  { since: 17, settings: { transaction_timeout: '0' } },
]

/**
 * A policy is an error to Wharf's own login and is never evaluated. Names are only looked up where nobody else makes
 * any.
 *
 * `default_transaction_read_only` is left as the operator has it: that is how a database is closed to writes. A
 * project's login could set it for itself, so it counts for nothing there (`assertTakesWrites` asks for the operator's).
 */
const BY_KIND: Readonly<Record<SessionKind, Settings>> = {
  wharf: { row_security: 'off', search_path: 'pg_catalog' },
  // No project can lock its tables. A statement that somebody else keeps waiting fails, and BullMQ, or the sweep, tries again.
  queue: { row_security: 'off', search_path: 'bullmq', lock_timeout: '5s' },
  project: { row_security: 'on', search_path: 'pg_catalog', default_transaction_read_only: 'off' },
}

/**
 * The statements that give a session every setting that the meaning of its statements depends on, whatever the server,
 * the database and the role say. None of them reads anything, so that they take no snapshot and look no name up.
 *
 * They are sent after connecting, not in the startup packet: poolers refuse that, and a server refuses the whole
 * session for a setting that it does not know.
 *
 * @param version the server's major version.
 */
export function sessionSettings(kind: SessionKind, version: number): string {
  const newer = NEWER.filter(({ since }) => version >= since).map(({ settings }) => settings)
  const settings: Settings = Object.assign({}, COMMON, ...newer, BY_KIND[kind])
  return Object.entries(settings)
    .map(([name, value]) => `SET ${name.split('.').map(quoteIdentifier).join('.')} = ${quoteLiteral(value)}`)
    .join('; ')
}
