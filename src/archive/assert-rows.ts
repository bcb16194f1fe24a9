import { lacksRows, type NotInArchive, nameMissing } from '../contract/completeness.ts'
import { AppError, type Fault } from '../errors.ts'

/** At most so many objects are listed; a stage may have any number of them. */
const MAX_NAMED = 1_000

/** What makes an archive with missing rows acceptable. */
export interface RowsPolicy {
  /** Whether rows may be missing. */
  readonly allowIncomplete?: boolean | undefined
}

/**
 * Refuses what would lose rows, unless that was asked for.
 *
 * @param notExported what an archive has no lines for.
 * @throws {AppError} INCOMPLETE, naming each object that rows are missing for.
 */
export function assertRowsThere(notExported: readonly NotInArchive[], { allowIncomplete = false }: RowsPolicy): void {
  const missing = allowIncomplete ? [] : notExported.filter(lacksRows)
  const [first, ...others] = missing.map(nameMissing)
  if (first !== undefined) throw rowsMissing(first, others)
}

function rowsMissing(first: string, others: readonly string[]): AppError {
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const faults: Fault[] = [first, ...others].slice(0, MAX_NAMED).map((detail) => ({ detail }))
  return new AppError(
    'INCOMPLETE',
    `rows are missing, since no archive can hold them: ${first}${more}; --allow-incomplete (allowIncomplete) accepts ` +
      'that, and an export with --exclude-table (excludeTables) leaves tables out on purpose',
    { faults },
  )
}
