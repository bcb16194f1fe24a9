import type { Queryable } from '../database/database.ts'
import { databaseUnsuitable } from '../errors.ts'

/** The id of this installation, by which its backups are told from those of others. */
export async function readInstallation(control: Queryable): Promise<string> {
  const { id } = await control.installation.findFirstOrThrow()
  return id
}

/**
 * The last backup that was written whole, of all or of those that `which` says; null where none was.
 *
 * @param which `until`: now; none that is later counts, as those are that were written while the clock was ahead.
 */
export const findLastBackup = (
  control: Queryable,
  { interim, until }: { readonly interim?: boolean; readonly until: Date },
) =>
  control.backup.findFirst({
    where: {
      bytes: { not: null },
      ...(interim !== undefined && { interim }),
      beganAt: { lte: until },
    },
    orderBy: { beganAt: 'desc' },
  })

/** @throws {AppError} DATABASE_UNSUITABLE where a recovery of it has not ended. */
export async function assertWhole(control: Queryable): Promise<void> {
  const { recoveredFrom } = await control.installation.findFirstOrThrow()
  if (recoveredFrom === null) return
  throw databaseUnsuitable(
    `the recovery of this installation has not ended: run "wharf recover" again, with --backup ${recoveredFrom}`,
  )
}
