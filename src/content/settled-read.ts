import type pg from 'pg'
import { sqlState } from '../database/sqlstate.ts'
import { AppError } from '../errors.ts'
import type { SeenMark } from './reference-sql.ts'
import type { StageMark } from './stage-marks.ts'

/** Where a stage's rows are, and how it stood when the request was let in. */
export interface Source {
  readonly pool: pg.Pool
  readonly stage: { readonly id: string; readonly schemaName: string }
  readonly mark: StageMark
}

/** How the stage stands now: at a moment after the asking. */
export type Remark = (stageId: string) => Promise<StageMark>

/** How often a read begins again because the stage was swapped, or its structure changed, while it ran. */
const MAX_ATTEMPTS = 5

/**
 * Reads something of a stage together with its reference, so that the two belong to one moment. Begins again where the
 * stage was swapped, or its structure changed, between the planning of a statement and its snapshot.
 *
 * @param read plans by the structure of the mark that it gets, and reads with `referenceSql` in the same statement.
 * @param forget is told of a mark whose structure was planned for in vain.
 * @throws {AppError} CONFLICT where the stage goes on changing. Whatever `read` throws.
 */
export async function settledRead<T extends { readonly seen: SeenMark }>(
  source: Source,
  { remark, forget }: { readonly remark: Remark; readonly forget: (mark: StageMark) => void },
  read: (mark: StageMark) => Promise<T>,
): Promise<T> {
  let { mark } = source
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const tried = await read(mark).catch((failure: unknown) => {
      // A kept catalog can be too old where the structure was changed past Wharf; a new one can not.
      if (!isStructureFailure(failure) || attempt === MAX_ATTEMPTS) throw failure
      return undefined
    })
    // A reference that has not moved since the request was let in says that nothing else has.
    if (tried?.seen.in_place && tried.seen.reference === mark.reference) return tried
    const now = await remark(source.stage.id)
    const same = now.structure === mark.structure
    if (same && tried?.seen.in_place && tried.seen.generation === mark.generation) return tried
    if (!tried) forget(mark)
    mark = now
  }
  throw new AppError('CONFLICT', 'the structure of the stage goes on changing; try again later', {
    retryAfterSeconds: 1,
  })
}

/** Whether a statement names what is not there, or not in that form. */
export const isStructureFailure = (error: unknown): boolean =>
  /^(3F000|42P01|42703|42704|42883|42804)$/.test(sqlState(error) ?? '')
