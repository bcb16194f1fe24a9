/**
 * What is known of a file in the artifact store.
 *
 * `writing`: it is being received or made. `ready`: whole, and checked against its digest when it was committed.
 * `deleted`: not to be had any more, though the store may still have it. `removed`: the store has let go of it.
 */
export type ArtifactState = 'writing' | 'ready' | 'deleted' | 'removed'

/** `input`: an upload that a job is to import. `output`: the archive that a job made. */
export type ArtifactKind = 'input' | 'output'
