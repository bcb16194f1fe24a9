import { type Archives, createArchives } from './archives.ts'
import { type Calls, createCalls } from './calls.ts'
import { type ClientOptions, createConnection } from './connection.ts'
import { createDownloads, type Downloads } from './downloads.ts'
import { createJobs, type Jobs } from './jobs.ts'
import { createRows, type Rows } from './rows.ts'
import { createUploads, type Uploads } from './uploads.ts'

export type {
  ArchiveSource,
  ExportRequest,
  ImportAnswer,
  ImportOptions,
  Job,
  JobOptions,
  TransferRequest,
} from './archives.ts'
export type { ClientOptions } from './connection.ts'
export type { DownloadOptions } from './downloads.ts'
export { type ErrorCode, type Fault, WharfError } from './error.ts'
export type { components, operations, paths } from './generated/api.ts'
export type { JobQuery, JobReference, WaitOptions } from './jobs.ts'
export type { Read, RowQuery, RowReader, TableAddress } from './rows.ts'
export type { Upload, UploadOptions } from './uploads.ts'

/** The HTTP interface of a service with one token. */
export interface Wharf extends Calls, Archives, Jobs, Downloads, Uploads, Rows {}

/**
 * Creates a client. Nothing is sent before it is used, and there is nothing to close.
 *
 * @throws {TypeError} where the URL is none, or has a login or a query.
 */
export function createClient(options: ClientOptions): Wharf {
  const connection = createConnection(options)
  return {
    ...createCalls(connection),
    ...createArchives(connection),
    ...createJobs(connection),
    ...createDownloads(connection),
    ...createUploads(connection),
    ...createRows(connection),
  }
}
