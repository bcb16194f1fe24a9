import type pg from 'pg'
import { sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'
import type { SeenVersion } from '../events/reference-sql.ts'
import type { StageVersion } from '../events/stage-versions.ts'
import type { Catalogs } from './catalogs.ts'
import type { ReferenceSql } from './query/index.ts'

/** Where a stage's rows are, and how it stood when the request was let in. */
export interface Source {
  readonly pool: pg.Pool
  readonly stage: { readonly id: string; readonly schemaName: string }
  readonly version: StageVersion
  /** Where its sessions look for what extensions have. */
  readonly extensionSchemas: readonly string[]
  /** What a read selects beside the rows. */
  readonly reference: ReferenceSql
  /** What that says, of a read that was planned by a version. */
  readonly toSeen: (row: SeenVersion, version: StageVersion) => SeenVersion
}

/** What a plan is made by. */
type Planned = Pick<Source, 'stage' | 'version'>

/** How the stage stands now: at a moment after the asking. */
export type RereadVersion = (stageId: string) => Promise<StageVersion>

/** How stages are looked at again. */
export interface Rereading {
  readonly rereadVersion: RereadVersion
  readonly catalogs: Pick<Catalogs, 'forget'>
}

/** How often something begins again because the stage was swapped, or its structure changed, while it ran. */
const MAX_ATTEMPTS = 5

/**
 * Does something with a stage that is planned by its structure, and again where the structure was no longer the one
 * planned for.
 *
 * @param attempt returns undefined where it is to be tried again by a newer version; not so the last time.
 * @throws {AppError} CONFLICT where the stage goes on changing. Whatever `attempt` throws.
 */
export async function untilConsistent<T>(
  { stage, version: first }: Planned,
  { rereadVersion, catalogs }: Rereading,
  attempt: (version: StageVersion, isLast: boolean) => Promise<T | undefined>,
): Promise<T> {
  let version = first
  for (let tried = 1; tried <= MAX_ATTEMPTS; tried += 1) {
    const settled = await attempt(version, tried === MAX_ATTEMPTS)
    if (settled !== undefined) return settled
    catalogs.forget({ stageId: stage.id, structure: version.structure })
    version = await rereadVersion(stage.id)
  }
  throw new AppError('CONFLICT', 'the structure of the stage goes on changing; try again later', {
    retryAfterSeconds: 1,
  })
}

/**
 * Reads something of a stage together with its reference, so that the two belong to one moment. Begins again where the
 * stage was swapped, or its structure changed, between the planning of a statement and its snapshot.
 *
 * @param read plans by the structure of the version that it gets, and reads with `referenceSql` in the same statement.
 * @throws {AppError} CONFLICT where the stage goes on changing. Whatever `read` throws.
 */
export const consistentRead = <T extends { readonly seen: SeenVersion }>(
  source: Planned,
  looking: Rereading,
  read: (version: StageVersion) => Promise<T>,
): Promise<T> =>
  untilConsistent(source, looking, async (version, isLast) => {
    const found = await read(version).catch((failure: unknown) => {
      // A kept catalog can be too old where the structure was changed past Wharf; a new one can not.
      if (isStructureFailure(failure) && !isLast) return undefined
      throw failure
    })
    if (!found?.seen.in_place) return undefined
    // A reference that has not moved since the request was let in says that nothing else has.
    if (found.seen.reference === version.reference) return found
    const now = await looking.rereadVersion(source.stage.id)
    return now.structure === version.structure && found.seen.generation === version.generation ? found : undefined
  })

/** Whether a statement names what is not there, or not in that form. */
export const isStructureFailure = (error: unknown): boolean =>
  /^(3F000|42P01|42703|42704|42883|42804)$/.test(sqlState(error) ?? '')
