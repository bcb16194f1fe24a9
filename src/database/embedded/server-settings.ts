/** Other users of this machine can reach it only by its port, with a password. */
export const ACCESS_SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '' }

/**
 * Settings of every start, given on the command line, so that clusters made by earlier versions have them too.
 *
 * @see https://www.postgresql.org/docs/current/runtime-config.html
 */
export const SETTINGS: Readonly<Record<string, string>> = {
  max_connections: '200',
  // For Wharf's own login, however many sessions projects have.
  reserved_connections: '70',
  shared_buffers: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_wal_size: '2GB',
  // Nothing replicates from this server, so what COPY writes into a table of its own transaction needs no WAL.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A query whose client is gone ends, instead of running on after a Wharf that was killed.
  client_connection_check_interval: '1s',
  // No errors of statements, nor the statements: they quote records. Clients get them anyway.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}
