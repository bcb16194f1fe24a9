import { randomUUID } from 'node:crypto'
import { rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parseArtifactLocation } from '../artifacts/artifact-location.ts'
import { createArtifactStore } from '../artifacts/create-artifact-store.ts'
import type { Config } from '../config.ts'
import { distrustOfFolder } from '../data-folder/own-files.ts'
import { distrustOfSecrets } from '../data-folder/secret-files.ts'
import { formatBytes } from '../lib/units.ts'
import { unlessMissing } from '../lib/unless-missing.ts'
import { type Checked, check, fault, ok, skipped, warning } from './check.ts'

/** The oldest Node.js that Wharf runs on. */
const OLDEST_NODE = [20, 19] as const

/** How much room there should be for archives, in bytes. */
const ROOM_FOR_ARCHIVES = 1024 ** 3

/** How long a storage of archives may take to answer a client. */
const LINK_MS = 10_000

/** @param node the version of Node.js, without a "v". */
export const checkVersions = (wharf: string, node: string): Promise<Checked> =>
  check('versions', '', async () => {
    const [major = 0, minor = 0] = node.split('.').map(Number)
    const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])
    const said = `Wharf ${wharf} on Node.js ${node}`
    return isOld ? fault(`${said}: install Node.js ${OLDEST_NODE.join('.')} or newer`) : ok(said)
  })

/** Who may read and write what the service keeps in its folder. @param environmentFile the path of an `.env`, if there is one. */
export const checkDataFolder = (
  { dataDir }: Pick<Config, 'dataDir'>,
  environmentFile: string | undefined,
): Promise<Checked> =>
  check('data folder', `let this user write ${dataDir}, or set WHARF_DATA_DIR to another folder`, async () => {
    if (!(await unlessMissing(stat(dataDir)))) return skipped(`${dataDir} is made by the first start`)
    const distrust = await distrustOfFolder(dataDir)
    if (distrust !== undefined) return fault(distrust)
    const probe = join(dataDir, `.doctor-${randomUUID()}`)
    await writeFile(probe, '', { flag: 'wx', mode: 0o600 })
    await rm(probe)
    const problems = await distrustOfSecrets(dataDir, environmentFile === undefined ? [] : [environmentFile])
    return problems.length > 0 ? fault(problems.join('; ')) : ok(`${dataDir}, and its secrets are for this user alone`)
  })

/** How much room there is where imports keep rows, and where archives are. */
export async function checkDisk(
  config: Pick<Config, 'dataDir' | 'artifacts' | 'spoolReserveBytes'>,
): Promise<readonly Checked[]> {
  const location = parseArtifactLocation(config.artifacts)
  return [
    await checkRoom('disk of the data folder', config.dataDir, config.spoolReserveBytes, (free) =>
      fault(
        `${formatBytes(free)} free, and imports leave ${formatBytes(config.spoolReserveBytes)} free ` +
          '(WHARF_SPOOL_RESERVE_BYTES), so they are refused: free some room',
      ),
    ),
    ...(location.kind === 'folder'
      ? [
          await checkRoom('disk of archives', location.path, ROOM_FOR_ARCHIVES, (free) =>
            warning(`${formatBytes(free)} free: free some room, or set WHARF_ARTIFACTS to another place`),
          ),
        ]
      : []),
  ]
}

const checkRoom = (
  name: string,
  path: string,
  neededBytes: number,
  short: (free: number) => Omit<Checked, 'name'>,
): Promise<Checked> =>
  check(name, `see that ${path} can be reached`, async () => {
    const found = await unlessMissing(statfs(path))
    if (!found) return skipped(`${path} is made by the first start`)
    const free = found.bavail * found.bsize
    if (found.files > 0 && found.ffree === 0)
      return fault(`no file can be made any more, all inodes are in use: remove files`)
    return free < neededBytes ? short(free) : ok(`${formatBytes(free)} free at ${path}`)
  })

/** @returns what a client gets of an artifact from the store itself; nothing where it gets none. */
const readByLink = (url: string): Promise<string> =>
  fetch(url, { redirect: 'error', signal: AbortSignal.timeout(LINK_MS) }).then(
    (answer) => (answer.ok ? answer.text() : ''),
    () => '',
  )

/** Writes, reads and removes a small file where archives are kept. */
export const checkStorage = ({
  artifacts,
  artifactsPublicUrl,
}: Pick<Config, 'artifacts' | 'artifactsPublicUrl'>): Promise<Checked> =>
  check('storage of archives', `see that this user may write to WHARF_ARTIFACTS, which is ${artifacts}`, async () => {
    const location = parseArtifactLocation(artifacts)
    // Nothing is made here: a command starts no database in a data folder that is neither new nor its own.
    if (location.kind === 'folder' && !(await unlessMissing(stat(location.path)))) {
      return skipped(`${artifacts} is made by the first start`)
    }
    const store = await createArtifactStore(artifacts, artifactsPublicUrl)
    const [key, text] = [randomUUID(), randomUUID()]
    try {
      const writer = await store.create(key)
      try {
        await writer.write(Buffer.from(text))
        await writer.commit()
      } finally {
        await writer.discard()
      }
      const read = (await buffer(store.read(key))).toString()
      const linked =
        store.link && (await readByLink(await store.link(key, { disposition: 'attachment', mediaType: 'text/plain' })))
      await store.remove(key)
      if (read !== text) return fault(`${artifacts} gives other bytes than were written: check the disk, or the bucket`)
      if ((await store.size(key)) !== undefined)
        return fault(`${artifacts} keeps what is removed: allow deletions there`)
      if (linked !== undefined && linked !== text)
        return warning(
          `${artifactsPublicUrl} gives this machine no archive: see that WHARF_ARTIFACTS_PUBLIC_URL leads to the bucket`,
        )
    } finally {
      await store.close()
    }
    const mode = location.kind === 'folder' ? (await stat(location.path)).mode : 0
    if ((mode & 0o077) !== 0) return warning(`${artifacts} is open to others: run chmod go-rwx on it`)
    return ok(`written, read and removed in ${artifacts}`)
  })
