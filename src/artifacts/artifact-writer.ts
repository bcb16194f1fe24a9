import { createHash } from 'node:crypto'
import type { ArtifactWriter, FinishedArtifact } from './artifact-store.ts'
import { storageFault } from './storage-fault.ts'

/** What a store does for an artifact that is being written. After a failure of any other, only `discard` is called. */
export interface ArtifactTarget {
  append(chunk: Uint8Array): Promise<void>
  /** Makes what was appended visible. */
  publish(): Promise<void>
  /** Frees what was appended; called once at most, and never after `publish` has succeeded. */
  discard(): Promise<void>
}

/** A writer that counts, hashes, and lets go of what it wrote as soon as anything fails. */
export function createArtifactWriter(target: ArtifactTarget): ArtifactWriter {
  const hash = createHash('sha256')
  let bytes = 0
  let ended = false

  const discard = async (): Promise<void> => {
    if (ended) return
    ended = true
    // What could not be freed has the form of what a killed process leaves: `sweep` finds it.
    await target.discard().catch(() => undefined)
  }

  const orDiscard = async <T>(step: () => Promise<T>): Promise<T> => {
    if (ended) throw new Error('the artifact was committed or discarded before')
    try {
      return await step()
    } catch (error) {
      await discard()
      throw storageFault(error)
    }
  }

  return {
    write: (chunk) =>
      orDiscard(async () => {
        hash.update(chunk)
        bytes += chunk.length
        await target.append(chunk)
      }),
    commit: () =>
      orDiscard(async (): Promise<FinishedArtifact> => {
        await target.publish()
        ended = true
        return { bytes, sha256: hash.digest('hex') }
      }),
    discard,
  }
}
