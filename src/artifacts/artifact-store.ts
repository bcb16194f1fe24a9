import { invalidRequest } from '../errors.ts'
import type { ByteRange } from '../lib/byte-range.ts'

export interface FinishedArtifact {
  readonly bytes: number
  /** SHA-256 of all bytes, 64 lower-case hexadecimal digits. */
  readonly sha256: string
}

/**
 * An artifact that is being written. It takes one call at a time, each after the one before has ended, and ends with
 * `commit` or `discard`; `discard` after either, or after a failure, does nothing, so it can stand in a `finally`.
 */
export interface ArtifactWriter {
  /**
   * Takes bytes, and returns once there is room for more. The store may keep the chunk itself; don't change it.
   *
   * @throws {AppError} STORAGE_FULL where there is no room, STORAGE_UNAVAILABLE where the store can't be reached. The
   *   artifact is discarded then: what had been written is freed.
   */
  write(chunk: Uint8Array): Promise<void>
  /**
   * Makes the artifact visible under its key, whole and for good, in place of what may have stood there.
   *
   * @throws {AppError} as `write`. The key then holds what it held before, or, where only the answer failed, the whole
   *   artifact.
   */
  commit(): Promise<FinishedArtifact>
  /** Frees what had been written. It does not fail: what could not be freed is left to `sweep`. */
  discard(): Promise<void>
}

/** How a store is to describe the bytes of an artifact to a client that reads them there. */
export interface LinkedFile {
  /** `Content-Disposition` */
  readonly disposition: string
  readonly mediaType: string
}

/** Which unfinished files may be removed; both conditions have to hold. */
export interface Leftovers {
  /** What was last written to later is left alone; a store that others use as well may have writers of theirs. */
  readonly olderThan: Date
  /** Whether the artifact is recorded as one that is being written: then its record decides, whatever any clock says. */
  readonly isUnderWay: (key: string) => Promise<boolean>
}

/**
 * Where finished archives are kept, uploads that wait for their import, and backups of Wharf itself: bytes under keys that
 * are UUIDs, of backups with the time before it. What is visible under a key is whole. `INVALID_REQUEST` is thrown for
 * another key.
 */
export interface ArtifactStore {
  /** Begins an artifact; nothing is visible under `key` until its writer's `commit`. One writer at a time has a key. */
  create(key: string): Promise<ArtifactWriter>
  /**
   * The bytes of an artifact, or of a part of it, read no faster than they are taken.
   *
   * @param range must lie in the artifact; what lies beyond its end is left out.
   * @throws {AppError} NOT_FOUND, at the first step of the reading, where there is nothing under `key`.
   */
  read(key: string, range?: ByteRange): AsyncIterable<Buffer>
  /**
   * A URL that reads the artifact, or parts of it, from the store itself. It needs no token, so it is a secret, for the few
   * minutes in which reading can begin. Undefined for a store that clients do not reach.
   *
   * @throws {AppError} STORAGE_UNAVAILABLE where the store gives no right to it.
   */
  readonly link?: (key: string, file: LinkedFile) => Promise<string>
  /** @returns the artifact's bytes, or undefined where there is nothing under `key`. */
  size(key: string): Promise<number | undefined>
  /** The keys of all artifacts that begin so, in no order. */
  list(prefix: string): Promise<readonly string[]>
  /**
   * Removes an artifact, and what was written of one that was not committed. A concurrent writer can no longer commit
   * it, unless the store has taken it by then; a reader may still read to its end. Does nothing where there is none.
   */
  remove(key: string): Promise<void>
  /**
   * Removes what writers that are gone have left behind: temporary files, uploads that were never completed.
   *
   * @returns how many it removed.
   */
  sweep(leftovers: Leftovers): Promise<number>
  /** Gives back connections. Nothing else may be called afterwards. */
  close(): Promise<void>
}

/** Keys become names of files and of objects; of this form none can name anything outside the store. */
const KEY_PATTERN = /^(?:backup-\d{8}T\d{9}Z-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** @throws {AppError} INVALID_REQUEST where `key` is neither a UUID in lower case nor the name of a backup. */
export function assertArtifactKey(key: string): void {
  if (!KEY_PATTERN.test(key)) throw invalidRequest('an artifact is named by a UUID in lower case')
}

/** Whether a name that was found in a store can be the key of an artifact. */
export const isArtifactKey = (key: string): boolean => KEY_PATTERN.test(key)
