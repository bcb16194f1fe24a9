import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { bundlePrograms } from '../processes/bundle.ts'
import { isInstalled } from '../processes/is-installed.ts'
import { installedPrograms } from './installed-programs.ts'
import { keepFilesInMemory } from './memory-folder.ts'
import { query } from './sessions.ts'
import { type SharedServer, startEmbedded, startInstalled } from './shared-servers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the cluster that all test files share; each makes databases of its own in it. */
    clusterUrl: string
    /** The login that Wharf uses in tests: like the embedded one, no superuser. */
    wharfUrl: string
    /** The same of a PostgreSQL that the system has installed, and the folder of its programs; null where it has none. */
    installed: { readonly bin: string; readonly url: string; readonly superuserUrl: string } | null
    /** The home folder of programs that tests run, which is not that of who runs the tests. */
    home: string
    /** The folder of the programs that tests run in processes of their own. */
    programs: string
  }
}

/** From how many test files on a run is one of the whole suite, and how many statements it asks at least. */
const MANY_FILES = 100
const LEAST_STATEMENTS = 1_000

/** Builds the program once, for the tests that run it, and starts the PostgreSQLs that all test files share. */
export default async function setup({ provide, vitest }: TestProject): Promise<() => Promise<void>> {
  if (!isInstalled('redis-server')) {
    if (process.env.CI) throw new Error('redis-server is not installed, which .ci/run should have seen to')
    process.stderr.write('redis-server is not installed: tests of Redis are left out\n')
  }
  const bin = installedPrograms()
  const removeFiles = await keepFilesInMemory()
  const programs = await mkdtemp(join(tmpdir(), 'wharf-test-programs-'))
  await chmod(programs, 0o755)
  const built = promisify(execFile)('node', ['scripts/bundle.mjs']).then(() => bundlePrograms(programs))
  const [embedded, installed] = await allStarted(built, startEmbedded(), bin && startInstalled(bin))
  const home = await mkdtemp(join(tmpdir(), 'wharf-test-home-'))
  provide('clusterUrl', embedded.superuserUrl)
  provide('wharfUrl', embedded.url)
  const { url = '', superuserUrl = '' } = installed ?? {}
  provide('installed', bin === undefined ? null : { bin, url, superuserUrl })
  provide('home', home)
  provide('programs', programs)
  return async () => {
    await askAsWharf(embedded.url)
    try {
      const [statements, others = 0] = await Promise.all([embedded.end(), installed?.end()])
      assertRecorded(statements + others, vitest.state.getFiles().length)
    } catch (error) {
      // Vitest prints what a teardown throws, and passes all the same.
      process.exitCode = 1
      throw error
    } finally {
      for (const folder of [programs, home]) await rm(folder, { recursive: true, force: true })
      await removeFiles()
    }
  }
}

/** Where the build, or one of the servers, fails, no server stays. */
async function allStarted(
  built: Promise<void>,
  embedded: Promise<SharedServer>,
  installed: Promise<SharedServer> | undefined | '',
): Promise<[SharedServer, SharedServer | undefined]> {
  const settled = await Promise.allSettled([embedded, installed || undefined, built])
  if (settled.some(({ status }) => status === 'rejected')) {
    for (const server of settled) if (server.status === 'fulfilled') await server.value?.end()
  }
  await built
  return [await embedded, (await installed) || undefined]
}

/** Asks something as Wharf does, so that there is at least one statement to be recorded, whichever files ran. */
async function askAsWharf(url: string): Promise<void> {
  await query(`${url}?application_name=wharf`, 'SELECT 1')
}

/** A recorder that sees nothing has nothing to object to. */
function assertRecorded(statements: number, files: number): void {
  const least = files < MANY_FILES ? 1 : LEAST_STATEMENTS
  if (statements >= least) return
  throw new Error(`${statements} statements of Wharf's own login were recorded, which must be at least ${least}`)
}
