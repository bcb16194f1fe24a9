import { type ExportSelection, MAX_READING_SESSIONS, RATES } from '../../contract/export.ts'
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
  /** How fast the archive is made. */
  readonly maxRate?: string
}

/** How an export is to go about reading, as fields of a request: servers of earlier versions do not know them. */
export interface Reading {
  readonly jobs?: number
  readonly maxBytesPerSecond?: number
}

/** @throws {AppError} WRONG_USE */
export const readReading = ({ jobs, maxRate }: SelectionOptions): Reading => ({
  ...(jobs !== undefined && { jobs: toJobs(jobs) }),
  ...(maxRate !== undefined && { maxBytesPerSecond: toRate(maxRate) }),
})

/** How many sessions work side by side. @throws {AppError} WRONG_USE */
export function toJobs(text: string): number {
  const count = Number(text)
  if (/^[1-9]\d?$/.test(text) && count <= MAX_READING_SESSIONS) return count
  throw wrongUse(`--jobs must be a whole number from 1 to ${MAX_READING_SESSIONS}`)
}

const UNITS: Readonly<Record<string, number>> = { k: 1024, M: 1024 ** 2, G: 1024 ** 3 }

function toRate(text: string): number {
  const [, number, unit = ''] = /^([1-9]\d{0,9})([kMG])$/.exec(text) ?? []
  const rate = Number(number) * (UNITS[unit] ?? 1)
  if (rate >= RATES.min && rate <= RATES.max) return rate
  throw wrongUse(
    '--max-rate must be a whole number with k, M or G, of KiB, MiB or GiB per second, from 256k to 1G: 20M',
  )
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
