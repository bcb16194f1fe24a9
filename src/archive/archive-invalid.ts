import { AppError } from '../errors.ts'

/**
 * A fault of one line of an archive.
 *
 * @param line 1-based; @param details what is wrong with it, never with what it holds. The first is the message's.
 */
export function lineFault(line: number, ...details: readonly [string, ...string[]]): AppError {
  const faults = details.map((detail) => ({ line, detail }))
  return new AppError('ARCHIVE_INVALID', `line ${line}: ${details[0]}`, { faults })
}

/** A fault of the archive's bytes, before there are lines. */
export function archiveFault(detail: string): AppError {
  return new AppError('ARCHIVE_INVALID', detail, { faults: [{ detail }] })
}
