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
