import type { ExportSelection } from '../../contract/export.ts'
import { AppError } from '../../errors.ts'
import type { Coding } from '../../lib/coding.ts'
import { type HttpAnswer, type HttpClient, jsonBody } from '../http.ts'
import { withAllowance } from '../server-api.ts'
import type { Reading } from './export-selection.ts'
import type { ArchiveSummary } from './read-through.ts'
import { type Receiving, receiveArchive } from './receive-archive.ts'

export interface Download extends Receiving, Reading {
  readonly http: HttpClient
  readonly selection: ExportSelection
  /** How it is compressed; undefined where it is not. */
  readonly coding: Coding | undefined
}

/**
 * Has a server export a project, and writes the archive as it comes. It is read meanwhile, and gets its name only if
 * it is whole and sound: whatever the way did to it is noticed here, and not when the backup is needed.
 *
 * @throws {AppError} REMOTE_FAILED, INCOMPLETE, ARCHIVE_INVALID, EXPORT_INTERRUPTED; nothing is left of the archive then.
 */
export async function downloadArchive(wanted: Download): Promise<ArchiveSummary> {
  const { headers, body } = await requestArchive(wanted)
  const estimate = Number(headers['wharf-rows-estimate'])
  wanted.progress.rowsExpected = estimate > 0 ? estimate : undefined
  return receiveArchive(body, wanted)
}

async function requestArchive({
  http,
  selection,
  coding,
  jobs,
  maxBytesPerSecond,
  signal,
  allowIncomplete = false,
}: Download): Promise<HttpAnswer> {
  const answer = await withAllowance({ projects: [selection], jobs, maxBytesPerSecond }, allowIncomplete, (request) => {
    const { headers, body } = jsonBody(request)
    return http.open({
      method: 'POST',
      path: '/export',
      // About the answer, as the interface document has it. Accept-Encoding keeps what is between from changing it.
      headers: {
        ...headers,
        ...(coding && { 'content-encoding': coding }),
        'accept-encoding': coding ?? 'identity',
      },
      body,
      signal,
    })
  })
  if (answer.headers['content-encoding'] === coding) return answer
  throw unexpectedCoding(coding)
}

function unexpectedCoding(coding: Coding | undefined): AppError {
  const between = 'something between here and the server'
  const detail = {
    none: `the archive comes compressed: ${between} packs it; export it without --no-gzip`,
    gzip: `the archive comes uncompressed: ${between} unpacks it; export it with --no-gzip`,
    zstd: `the archive does not come as zstd: the server is of an earlier version, or ${between} unpacks it; leave --zstd out`,
  }
  return new AppError('REMOTE_FAILED', detail[coding ?? 'none'])
}
