import { createHash } from 'node:crypto'
import type { ArtifactStore, LinkedFile } from '../artifacts/artifact-store.ts'
import type { Database } from '../database/database.ts'
import { type AppError, gone, isAppError } from '../errors.ts'
import type { ByteRange } from '../lib/byte-range.ts'
import { collectPassed } from '../lib/collect-passed.ts'
import type { Logger } from '../logger.ts'
import { type Damage, recordDamage } from './damaged-archives.ts'
import { archiveDamaged, type JobOutput } from './job-output.ts'

interface OutputServices {
  readonly artifacts: ArtifactStore
  readonly control: Database
  readonly logger: Logger
}

/**
 * A URL by which an archive is read from the store itself, see `ArtifactStore.link`. The store is asked whether it is
 * there, and as long as it was; what its bytes are, only who reads them can see.
 *
 * @returns undefined where clients do not reach the store.
 * @throws {AppError} GONE, as `readOutput`; STORAGE_UNAVAILABLE.
 */
export async function linkOutput(
  { artifacts, control, logger }: OutputServices,
  { key, bytes }: JobOutput,
  file: LinkedFile,
): Promise<string | undefined> {
  if (!artifacts.link) return undefined
  const size = await artifacts.size(key)
  if (size === undefined) throw notKept()
  if (size === bytes) return artifacts.link(key, file)
  await recordDamage(control.prisma, logger, { key, damage: 'another length' })
  throw archiveDamaged()
}

/**
 * Exactly these bytes, or an error: a length that was promised must not end early and look like all there is. The last
 * chunk of a whole archive comes once the digest of all of them is right, so that a damaged one never looks complete.
 *
 * @param part all of it where nothing is said.
 * @throws {AppError} GONE where the storage has something else, which is recorded, or nothing; STORAGE_UNAVAILABLE.
 */
export async function* readOutput(
  { artifacts, control, logger }: OutputServices,
  { key, bytes, sha256 }: JobOutput,
  part: ByteRange = { start: 0, end: bytes },
): AsyncGenerator<Buffer> {
  const refuse = async (damage: Damage): Promise<never> => {
    await recordDamage(control.prisma, logger, { key, damage })
    throw archiveDamaged()
  }
  const hash = part.start === 0 && part.end === bytes ? createHash('sha256') : undefined
  let missing = part.end - part.start
  let held: Buffer | undefined
  try {
    for await (const chunk of collectPassed(artifacts.read(key, part))) {
      missing -= chunk.length
      hash?.update(chunk)
      if (held) yield held
      held = chunk
    }
  } catch (error) {
    throw isAppError(error, 'NOT_FOUND') ? notKept() : error
  }
  if (missing !== 0) await refuse('another length')
  if (hash && !hash.digest().equals(sha256)) await refuse('another digest')
  if (held) yield held
}

const notKept = (): AppError => gone('the archive is not kept any more; export again')
