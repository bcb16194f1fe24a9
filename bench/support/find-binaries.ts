import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The oldest PostgreSQL that Wharf runs on. */
const OLDEST_VERSION = 15

const PROGRAMS = ['initdb', 'postgres', 'psql', 'pg_dump', 'pg_restore'] as const

/** Where packages of distributions put them, as folders with one folder for each version, and the rest of the path. */
const USUAL_FOLDERS = [
  ['/usr/lib/postgresql', 'bin'],
  ['/opt/homebrew/opt', 'bin'],
  ['/usr/local/opt', 'bin'],
] as const

/** Server and client programs of one version: pg_dump refuses a server that is newer than itself. */
export interface InstalledPostgres {
  readonly version: string
  readonly initdb: string
  readonly postgres: string
  readonly psql: string
  readonly pgDump: string
  readonly pgRestore: string
}

/** Finds the newest PostgreSQL on this machine that Wharf can use and that is there with its client programs. */
export async function findInstalledPostgres(): Promise<InstalledPostgres | undefined> {
  const folders = new Set([...(await configuredFolder()), ...(await usualFolders())])
  const found = await Promise.all([...folders].map(inspect))
  return found
    .filter((postgres) => postgres !== undefined)
    .filter(({ version }) => Number.parseInt(version, 10) >= OLDEST_VERSION)
    .sort((left, right) => Number.parseFloat(right.version) - Number.parseFloat(left.version))[0]
}

async function configuredFolder(): Promise<string[]> {
  try {
    return [(await run('pg_config', ['--bindir'])).stdout.trim()]
  } catch {
    // Not on the PATH.
    return []
  }
}

async function usualFolders(): Promise<string[]> {
  const folders = await Promise.all(
    USUAL_FOLDERS.map(async ([above, below]) => {
      const names = await readdir(above).catch(() => [])
      return names.map((name) => join(above, name, below))
    }),
  )
  return folders.flat()
}

async function inspect(folder: string): Promise<InstalledPostgres | undefined> {
  const [initdb = '', postgres = '', psql = '', pgDump = '', pgRestore = ''] = PROGRAMS.map((name) =>
    join(folder, name),
  )
  try {
    await Promise.all([initdb, postgres, psql, pgDump, pgRestore].map((path) => access(path)))
    const versions = await Promise.all([postgres, psql, pgDump, pgRestore].map(versionOf))
    const [version] = versions
    if (version === undefined || versions.some((other) => other !== version)) return undefined
    return { version, initdb, postgres, psql, pgDump, pgRestore }
  } catch {
    // One of them is missing, or doesn't run here.
    return undefined
  }
}

const versionOf = async (program: string): Promise<string | undefined> =>
  /\(PostgreSQL\) (\S+)/.exec((await run(program, ['--version'])).stdout)?.[1]
