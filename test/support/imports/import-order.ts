/**
 * The parts of src/ in order: files import from their own part and from those on the lines above it. Parts on the same
 * line don't import from each other. A folder that has a line of its own is no part of the folder around it.
 */
export const IMPORT_ORDER: readonly (readonly string[])[] = [
  ['client', 'lib', 'package-file.ts'],
  ['compression', 'version.ts', 'wasm'],
  ['contract', 'errors.ts'],
  ['allowed-hosts.ts'],
  ['config.ts'],
  ['logger.ts'],
  ['outage-log.ts'],
  ['archive', 'artifacts', 'data-folder', 'database'],
  ['copy'],
  ['rows'],
  ['events'],
  ['projects'],
  ['notifications'],
  ['content/query', 'transfer/structure'],
  ['content', 'jobs', 'transfer'],
  ['backup', 'processes'],
  ['lifecycle.ts'],
  ['container.ts', 'doctor'],
  ['api', 'workers'],
  ['recovery'],
  ['cli'],
  ['welcome.ts'],
  ['service.ts'],
  ['run-service.ts'],
  ['main.ts'],
]
