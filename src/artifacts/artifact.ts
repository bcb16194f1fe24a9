/**
 * What is known of a file in the artifact store.
 *
 * `writing`: it is being received or made. `ready`: whole, and checked against its digest when it was committed.
 * `deleted`: not to be had any more, though the store may still have it. `removed`: the store has let go of it.
 */
export type ArtifactState = 'writing' | 'ready' | 'deleted' | 'removed'

/** `input`: an upload that a job is to import. `output`: the archive that a job made. */
export type ArtifactKind = 'input' | 'output'

/** The record of a file in the artifact store. */
export interface Artifact {
  readonly id: string
  /** Null while an upload has no job yet, and when the job has been deleted before the file. */
  readonly jobId: string | null
  readonly kind: ArtifactKind
  /** Where it is in the store. */
  readonly key: string
  readonly state: ArtifactState
  /** Null while it is written, as is the digest. */
  readonly bytes: number | null
  readonly sha256: Uint8Array | null
  readonly createdAt: Date
  /** When it goes; null for as long as its job needs it. */
  readonly expiresAt: Date | null
}
