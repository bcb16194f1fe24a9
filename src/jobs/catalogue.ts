import { z } from 'zod'
import { type ExportSelection, storedExportRequest, transferRequest } from '../contract/export.ts'
import { slug } from '../contract/fields.ts'
import { keptArchive } from '../contract/kept-archive.ts'
import { sourceArchive } from '../contract/source-archive.ts'
import type { JobKind } from './job.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const importRequest = z.strictObject({
  /** The archive's projects, in its order, and where each goes. */
  projects: z.array(z.strictObject({ slug, targetSlug: slug, system: z.boolean(), stages: z.array(slug) })),
  /** The export whose archive it is, and when that was asked for; missing for an archive that was uploaded. */
  from: z.strictObject({ jobId: z.string(), createdAt: z.string() }).optional(),
  allowEdited: z.boolean(),
  allowIncomplete: z.boolean().optional(),
  /** How many sessions load one stage, at most. */
  jobs: z.number().optional(),
})

/** A DSN stands here with its token masked, which makes some longer; the token itself is sealed. */
const storedEnd = z.union([z.strictObject({ project: slug }), z.strictObject({ dsn: z.string() })])

const storedTransfer = transferRequest.extend({
  source: storedEnd,
  target: storedEnd,
  /** The archive that the source has made for it, once that is known. */
  archive: sourceArchive.exactOptional(),
  /** The archive that was made for the target, and is kept here. */
  kept: keptArchive.exactOptional(),
})

/** What a kind of job is asked for with, and how much of it there may be. */
interface JobKindRules<S extends z.ZodType> {
  readonly request: S
  /** How often it is begun at most, where workers die or what it needs cannot be reached. */
  readonly maxAttempts: number
  /** How long one attempt may take. */
  readonly timeoutMs: number
  /** How many run at once in one process. */
  readonly concurrency: number
}

const rules = <S extends z.ZodType>(kind: JobKindRules<S>): JobKindRules<S> => kind

/**
 * All kinds of jobs. An attempt may take as long as the largest project anybody has; its end is in no way a deadline.
 */
export const CATALOGUE = {
  export: rules({ request: storedExportRequest, maxAttempts: 3, timeoutMs: 24 * HOUR, concurrency: 4 }),
  import: rules({ request: importRequest, maxAttempts: 3, timeoutMs: 24 * HOUR, concurrency: 2 }),
  transfer: rules({ request: storedTransfer, maxAttempts: 3, timeoutMs: 24 * HOUR, concurrency: 2 }),
} as const satisfies Record<JobKind, JobKindRules<z.ZodType>>

/** How many exports jobs can have under way in one process: one each. */
export const MAX_JOB_EXPORTS = CATALOGUE.export.concurrency + CATALOGUE.transfer.concurrency

/** How many imports: an export is proven by one. */
export const MAX_JOB_IMPORTS =
  CATALOGUE.import.concurrency + CATALOGUE.transfer.concurrency + CATALOGUE.export.concurrency

export type JobRequest<K extends JobKind> = z.output<(typeof CATALOGUE)[K]['request']>

export type ExportRequest = JobRequest<'export'>
export type ImportRequest = JobRequest<'import'>
export type TransferRequest = JobRequest<'transfer'>

/** The projects that an export takes: those that it names, and those that its patterns stand for, once that is known. */
export const selectionsOf = ({
  projects,
  matched = [],
}: {
  readonly projects: readonly ExportSelection[]
  readonly matched?: readonly ExportSelection[]
}): readonly ExportSelection[] => [...projects, ...matched]

/** What a job asks for, of whichever kind. */
export type AnyJobRequest = { [K in JobKind]: { readonly kind: K; readonly request: JobRequest<K> } }[JobKind]

/** Reads a record's request. @throws {Error} where another version of Wharf wrote what this one doesn't know. */
export function parseRequest(kind: JobKind, request: unknown): AnyJobRequest {
  switch (kind) {
    case 'export':
      return { kind, request: storedExportRequest.parse(request) }
    case 'import':
      return { kind, request: importRequest.parse(request) }
    case 'transfer':
      return { kind, request: storedTransfer.parse(request) }
  }
}
