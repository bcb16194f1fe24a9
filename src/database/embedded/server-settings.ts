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

/**
 * Settings, given on the command line of every start, that a cluster's configuration files cannot change: those that
 * run commands, load libraries, or name files elsewhere. Everything else in these files counts.
 *
 * They do not make a cluster from an unknown source safe: its tables hold code as well.
 *
 * @see https://www.postgresql.org/docs/18/runtime-config.html
 */
export const guardSettings = (clusterDir: string): Readonly<Record<string, string>> => ({
  data_directory: clusterDir,
  hba_file: `${clusterDir}/pg_hba.conf`,
  ident_file: `${clusterDir}/pg_ident.conf`,
  external_pid_file: '',
  // The log is the one that Wharf opens: a file of the server's own could be any file of this user.
  logging_collector: 'off',
  log_destination: 'stderr',

  shared_preload_libraries: '',
  session_preload_libraries: '',
  local_preload_libraries: '',
  oauth_validator_libraries: '',
  jit_provider: 'llvmjit',
  dynamic_library_path: '$libdir',
  extension_control_path: '$system',

  ssl: 'off',
  ssl_passphrase_command: '',
  archive_mode: 'off',
  archive_command: '',
  archive_library: '',
  restore_command: '',
  archive_cleanup_command: '',
  recovery_end_command: '',
  primary_conninfo: '',
})
