import type { Queryable } from '../database/database.ts'

/** The id of this installation, by which its backups are told from those of others. */
export async function readInstallation(control: Queryable): Promise<string> {
  const { id } = await control.installation.findFirstOrThrow()
  return id
}

/** The last backup that was written whole; null where none was. */
export const findLastBackup = (control: Queryable) =>
  control.backup.findFirst({ where: { bytes: { not: null } }, orderBy: { beganAt: 'desc' } })
