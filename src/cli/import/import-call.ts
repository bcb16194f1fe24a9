import type { z } from 'zod'
import type { FromServer } from '../../contract/from-server.ts'
import { examinedSchema, importedSchema } from '../../contract/import.ts'
import { AppError } from '../../errors.ts'
import { recogniseCoding } from '../../lib/recognise-coding.ts'
import { isConnectionFailure } from '../connection-failure.ts'
import type { HttpClient } from '../http.ts'
import type { FileProgress } from '../terminal/progress.ts'

/** Which stages of an archive were imported, and where, and what it lacked. */
export type Imported = FromServer<z.output<typeof importedSchema>>
export type ImportedProject = Imported['projects'][number]

/** Which stages of an archive would be imported, where, what they would replace, and what it lacks. */
export type Examined = FromServer<z.output<typeof examinedSchema>>
export type ExaminedProject = Examined['projects'][number]

/**
 * The archive, compressed or not: as bytes that are sent with the call, and what they throw ends it, and is thrown; or as the
 * path of an upload that is on the server already.
 */
export type ArchiveToSend = { readonly bytes: AsyncIterable<Buffer> } | { readonly upload: string }

export interface ImportCall {
  readonly http: HttpClient
  readonly archive: ArchiveToSend
  /** Where the data goes; undefined leaves that to the archive. */
  readonly targetSlug: string | undefined
  /** The one project of the archive that is meant; undefined for all. */
  readonly project?: string | undefined
  /** Whether counts and sums may disagree. */
  readonly allowEdited: boolean
  /** Whether rows may be missing from it. */
  readonly allowIncomplete?: boolean | undefined
  /** How many sessions load one stage, at most: servers of earlier versions do not know it. */
  readonly jobs?: number | undefined
  readonly progress: FileProgress
}

/**
 * Has a server import an archive.
 *
 * @throws {AppError} REMOTE_FAILED where the server refuses, which it may do long before it has got all of the archive;
 *   its answer is what is thrown then. Nothing has changed there, unless the message says that this is not known.
 */
export async function importArchive(call: ImportCall): Promise<Imported> {
  try {
    return await ask(call, { schema: importedSchema, query: {}, thenWaitFor: 'loading' })
  } catch (error) {
    throw call.progress.waitingFor !== undefined && isConnectionFailure(error) ? outcomeUnknown(error) : error
  }
}

/** Has a server look at an archive and its target, and change nothing. @throws {AppError} as `importArchive`. */
export async function examineArchive(call: ImportCall): Promise<Examined> {
  const query = { dryRun: 'true' }
  return await ask(call, { schema: examinedSchema, query, thenWaitFor: 'checking' })
}

async function ask<S extends z.ZodType>(
  { http, archive, targetSlug, project, allowEdited, allowIncomplete, jobs, progress }: ImportCall,
  expected: {
    readonly schema: S
    readonly query: Readonly<Record<string, string>>
    readonly thenWaitFor: string
  },
): Promise<FromServer<z.output<S>>> {
  const query = {
    ...expected.query,
    targetSlug,
    project,
    allowEdited: allowEdited ? 'true' : undefined,
    allowIncomplete: allowIncomplete ? 'true' : undefined,
    jobs: jobs?.toString(),
  }
  const waits = (): void => {
    progress.waitingFor = expected.thenWaitFor
  }
  if ('upload' in archive) {
    waits()
    return http.json({ method: 'POST', path: `${archive.upload}/import`, query }, expected.schema)
  }
  const { bytes, coding } = await recogniseCoding(archive.bytes)
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of bytes) {
      yield chunk
      progress.bytes += chunk.length
    }
    waits()
  }
  const headers = { 'content-type': 'application/x-ndjson', ...(coding && { 'content-encoding': coding }) }
  return http.json({ method: 'POST', path: '/import', query, headers, body: counted() }, expected.schema)
}

const outcomeUnknown = (cause: AppError): AppError =>
  new AppError(
    'REMOTE_FAILED',
    `${cause.message}; all of the archive was sent, so it may or may not have been imported`,
    {
      cause,
    },
  )
