import { execFile } from 'node:child_process'
import { chown, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { databaseUnavailable } from '../../errors.ts'
import { syncFolder } from '../../lib/atomic-file.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import type { ServerUser } from './server-user.ts'

const run = promisify(execFile)

/** Name of the cluster's superuser. */
export const SUPERUSER = 'postgres'

const UNFINISHED_PREFIX = 'postgres.unfinished-'

export interface ClusterRecipe {
  readonly dataDir: string
  readonly clusterDir: string
  readonly initdb: string
  readonly superuserPassword: string
  readonly user: ServerUser
  readonly env: Readonly<Record<string, string>>
}

/** Whether there is a cluster in this folder. A cluster appears there as a whole, see `createCluster`. */
export async function clusterExists(clusterDir: string): Promise<boolean> {
  return (await readFileIfThere(join(clusterDir, 'PG_VERSION'))) !== undefined
}

/**
 * Makes a cluster, in a folder beside its place that is renamed when it is complete: after a crash in the middle the
 * next start finds no half of one.
 *
 * @throws {AppError} DATABASE_UNAVAILABLE with initdb's own words where it fails.
 */
export async function createCluster(recipe: ClusterRecipe): Promise<void> {
  const unfinishedDir = await mkdtemp(join(recipe.dataDir, UNFINISHED_PREFIX))
  const passwordFile = join(unfinishedDir, 'password')
  const newClusterDir = join(unfinishedDir, 'cluster')
  try {
    await writeFile(passwordFile, recipe.superuserPassword, { mode: 0o600, flag: 'wx' })
    await giveTo(recipe.user, [unfinishedDir, passwordFile])
    await runInitdb(recipe, newClusterDir, passwordFile)
    await rename(newClusterDir, recipe.clusterDir)
    await syncFolder(recipe.dataDir)
  } finally {
    await removeFolder(unfinishedDir)
  }
}

/** Removes what starts that were broken off left behind. */
export async function removeUnfinishedClusters(dataDir: string): Promise<void> {
  const names = await readdir(dataDir)
  const unfinished = names.filter((name) => name.startsWith(UNFINISHED_PREFIX))
  await Promise.all(unfinished.map((name) => removeFolder(join(dataDir, name))))
}

async function giveTo({ uid, gid }: ServerUser, paths: readonly string[]): Promise<void> {
  if (uid === undefined || gid === undefined) return
  await Promise.all(paths.map((path) => chown(path, uid, gid)))
}

async function runInitdb(recipe: ClusterRecipe, newClusterDir: string, passwordFile: string): Promise<void> {
  const options = [
    ...['--pgdata', newClusterDir, '--username', SUPERUSER, '--pwfile', passwordFile, '--auth=scram-sha-256'],
    // The built-in provider sorts alike on every system and after every update of its C library.
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--data-checksums'],
  ]
  try {
    await run(recipe.initdb, options, { ...recipe.user, cwd: recipe.dataDir, env: recipe.env })
  } catch (error) {
    const reason = error instanceof Error && 'stderr' in error && error.stderr ? String(error.stderr).trim() : error
    throw databaseUnavailable(`initdb could not make the embedded PostgreSQL's cluster: ${reason}`, error)
  }
}

/** Retries, because an initdb whose Wharf was killed may still be adding files. */
const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
