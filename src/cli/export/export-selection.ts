import { type ExportSelection, MAX_READING_SESSIONS } from '../../contract/export.ts'
import { wrongUse } from '../../errors.ts'
import { CODINGS, type Coding } from '../../lib/coding.ts'
import { NO_ZSTD } from '../../lib/zstd.ts'
import type { ReportOptions } from '../terminal/result.ts'

/** The options of commands that choose what is exported. */
export interface SelectionOptions {
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
  readonly grants?: boolean
  readonly allowIncomplete?: boolean
  /** How many sessions read one database. */
  readonly jobs?: string
}

/**
 * How many sessions are to read one database, as a field of a request: servers of earlier versions do not know it.
 *
 * @throws {AppError} WRONG_USE
 */
export function readJobs({ jobs }: SelectionOptions): { readonly jobs?: number } {
  if (jobs === undefined) return {}
  const count = Number(jobs)
  if (/^[1-9]\d?$/.test(jobs) && count <= MAX_READING_SESSIONS) return { jobs: count }
  throw wrongUse(`--jobs must be a whole number from 1 to ${MAX_READING_SESSIONS}`)
}

/** Those of `data:export`. */
export interface ExportOptions extends ReportOptions, SelectionOptions {
  readonly gzip: boolean
  readonly zstd?: boolean
  readonly output?: string
  /** As a job of the server's, and then downloaded. */
  readonly async?: boolean
}

/** How the archive is to be compressed; undefined where it is not. @throws {AppError} WRONG_USE */
export function readCoding({ gzip, zstd }: Pick<ExportOptions, 'gzip' | 'zstd'>): Coding | undefined {
  if (!zstd) return gzip ? 'gzip' : undefined
  if (!gzip) throw wrongUse('--zstd and --no-gzip say different things: leave one of them out')
  if (!CODINGS.includes('zstd')) throw wrongUse(`what comes is read here, too, and ${NO_ZSTD}: leave --zstd out`)
  return 'zstd'
}

/** The compression of an archive that a job makes, as a field of a request: servers of earlier versions do not know it. */
export const readCompression = ({ zstd }: { readonly zstd?: boolean }): { readonly compression?: Coding } =>
  zstd ? { compression: 'zstd' } : {}

/** Which parts of a project to export, without its slug. */
export const toSelection = ({
  includeSystem,
  stage,
  excludeTable,
  grants,
}: SelectionOptions): Omit<ExportSelection, 'slug' | 'targetSlug'> => ({
  system: includeSystem ?? false,
  stages: stage,
  excludeTables: excludeTable,
  // Older servers do not know it.
  ...(grants && { grants }),
})
