import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Where parts of a connection come from that its address leaves out. */
export interface AddressEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Where this user's programs keep their settings; undefined: nowhere. */
  readonly homeFolder?: string
  /** Who this user is to the operating system. */
  readonly userName?: string
  /** Learns what was left out that one would expect to count. */
  warn(message: string): void
}

/** Where nothing comes from elsewhere: for addresses that others give to a service. */
export const EMPTY_ENVIRONMENT: AddressEnvironment = { variables: {}, warn: () => undefined }

/** @param variables normally `process.env`. */
export function readAddressEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
  warn: (message: string) => void,
): AddressEnvironment {
  const isWindows = process.platform === 'win32'
  const homeFolder = isWindows ? variables.APPDATA : variables.HOME || homedir()
  const userName = currentUser()
  return { variables, warn, ...(homeFolder && { homeFolder }), ...(userName && { userName }) }
}

/** A process may run as a user who has no name. */
function currentUser(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/** libpq's files, relative to the folder that the environment names; they are elsewhere on Windows. */
const FILES = {
  passfile: ['.pgpass', 'pgpass.conf'],
  servicefile: ['.pg_service.conf', '.pg_service.conf'],
  sslrootcert: ['.postgresql/root.crt', 'root.crt'],
  sslcert: ['.postgresql/postgresql.crt', 'postgresql.crt'],
  sslkey: ['.postgresql/postgresql.key', 'postgresql.key'],
  sslcrl: ['.postgresql/root.crl', 'root.crl'],
} as const

/** Where libpq looks for a file that nothing names. */
export function usualFile({ homeFolder }: AddressEnvironment, file: keyof typeof FILES): string | undefined {
  if (homeFolder === undefined) return undefined
  const [elsewhere, onWindows] = FILES[file]
  return process.platform === 'win32' ? join(homeFolder, 'postgresql', onWindows) : join(homeFolder, elsewhere)
}
