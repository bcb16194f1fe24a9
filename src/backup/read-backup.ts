import { unpack } from '../archive/unpack.ts'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { notFound, wrongUse } from '../errors.ts'
import { BACKUP_PREFIX, backupsAmong, type NamedBackup } from './backup-key.ts'
import { type BackedUpRow, type BackupHeader, backedUpRow, backupHeader } from './read-control.ts'
import { backupInvalid, openSealed } from './sealed-stream.ts'

const NEWLINE = 0x0a

/** How far the clock of this machine may be behind that of the one that made a backup, in milliseconds. */
const AHEAD_MS = 60 * 60_000

/**
 * The backup that is meant: of a name, or else the newest of a store.
 *
 * @throws {AppError} NOT_FOUND; WRONG_USE where none is named, and the store has those of several installations, or its newest
 *   is of a time that has not come yet: then it may be older than others.
 */
export async function chooseBackup(
  store: ArtifactStore,
  location: string,
  named: string | undefined,
): Promise<NamedBackup> {
  const backups = backupsAmong(await store.list(BACKUP_PREFIX))
  const found = named === undefined ? backups[0] : backups.find(({ key }) => key === named)
  if (!found && named !== undefined) throw notFound('backup', named, `in ${location}`)
  if (!found) throw notFound('backup', 'of Wharf itself', `in ${location}`)
  const newest = new Map(backups.toReversed().map((backup) => [backup.installation, backup.key]))
  if (named !== undefined) return found
  if (newest.size === 1 && found.madeAt.getTime() <= Date.now() + AHEAD_MS) return found
  if (newest.size === 1) {
    const names = backups.slice(0, 5).map(({ key }) => key)
    throw wrongUse(
      `the newest backup is of ${found.madeAt.toISOString()}, which is later than it is now: a clock was wrong, this machine's or that ` +
        `of the backup. Name the one that is meant with --backup: ${names.join(', ')}`,
    )
  }
  throw wrongUse(
    `${location} has backups of ${newest.size} installations: name one with --backup. Their newest are ${[...newest.values()].join(', ')}`,
  )
}

/** The newest of the backups that are older than one, of the same installation. */
export async function findBefore(store: ArtifactStore, one: NamedBackup): Promise<NamedBackup | undefined> {
  const backups = backupsAmong(await store.list(BACKUP_PREFIX))
  return backups.find(({ installation, madeAt }) => installation === one.installation && madeAt < one.madeAt)
}

/** A backup that is read. */
export interface OpenedBackup {
  readonly header: BackupHeader
  /** Each after those that it refers to. What was read before the end is authentic, but not all. */
  readonly rows: AsyncGenerator<BackedUpRow, void, undefined>
}

/** @throws {AppError} BACKUP_INVALID, also at a later step of reading the rows. */
export async function openBackup(store: ArtifactStore, key: string, passphrase: string): Promise<OpenedBackup> {
  const lines = linesOf(unpack(openSealed(store.read(key), passphrase)))
  const first = await lines.next()
  const header = backupHeader.safeParse(first.done ? undefined : JSON.parse(first.value)).data
  if (!header) throw backupInvalid('the backup is of another version of Wharf than this one can read')
  return { header, rows: rowsOf(lines) }
}

async function* rowsOf(lines: AsyncGenerator<string, void, undefined>): AsyncGenerator<BackedUpRow, void, undefined> {
  for await (const line of lines) yield backedUpRow.parse(JSON.parse(line))
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  let begun: Buffer[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString()
      begun = []
      start = end + 1
    }
    // A copy: the chunk may be reused.
    if (start < chunk.length) begun.push(Buffer.from(chunk.subarray(start)))
  }
}
