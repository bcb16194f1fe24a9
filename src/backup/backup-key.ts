/** Where backups are in the artifact store: their names sort by time. */
export const BACKUP_PREFIX = 'backup-'

const PATTERN = /^backup-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-([0-9a-f-]{36})$/

/** What the name of a backup says. */
export interface NamedBackup {
  readonly key: string
  /** Since when what is in it may have changed. */
  readonly madeAt: Date
  /** Which installation made it. Others may keep theirs in the same store. */
  readonly installation: string
}

/** @param installation a UUID. */
export const backupKey = (madeAt: Date, installation: string): string =>
  `${BACKUP_PREFIX}${madeAt.toISOString().replaceAll(/[-:.]/g, '')}-${installation}`

/** @returns undefined where the name is no backup's. */
export function parseBackupKey(key: string): NamedBackup | undefined {
  const [, year, month, day, hour, minute, second, ms, installation] = PATTERN.exec(key) ?? []
  if (installation === undefined) return undefined
  const madeAt = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`)
  return Number.isNaN(madeAt.getTime()) ? undefined : { key, madeAt, installation }
}

/** The backups among names, the newest first. */
export const backupsAmong = (keys: readonly string[]): readonly NamedBackup[] =>
  keys.flatMap((key) => parseBackupKey(key) ?? []).toSorted((a, b) => b.madeAt.getTime() - a.madeAt.getTime())
