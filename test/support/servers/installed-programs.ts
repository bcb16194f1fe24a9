import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const INSTALLED = '/usr/lib/postgresql'

/**
 * The folder of programs that `TEST_POSTGRES` names, else that of the newest PostgreSQL that the system has installed
 * whole; undefined where it has none.
 */
export function installedPrograms(): string | undefined {
  const { TEST_POSTGRES } = process.env
  if (TEST_POSTGRES) return TEST_POSTGRES
  const versions = existsSync(INSTALLED) ? readdirSync(INSTALLED) : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLED, version, 'bin'))
    .find((bin) => ['initdb', 'postgres', 'pg_dump'].every((program) => existsSync(join(bin, program))))
}

/** The major version of the PostgreSQL of these programs. */
export const versionOf = (programs: string): number => Number(basename(dirname(programs)))

/** Whether the PostgreSQL of these programs can speak German: its translations are installed. */
export const speaksGerman = (programs: string): boolean =>
  existsSync(`/usr/share/locale/de/LC_MESSAGES/plpgsql-${versionOf(programs)}.mo`)
