import { once } from 'node:events'
import { mkdtemp, readFile, rm, utimes } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { vi } from 'vitest'
import { isSignedUrl } from './s3-signature.ts'
import { createUploads, errorXml, send } from './s3-uploads.ts'

export const S3_BUCKET = 'archives'

/** What a request is about, in S3's own words: `UploadPart`, `GetObject`, … */
export type S3Call =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CreateMultipartUpload'
  | 'DeleteObject'
  | 'GetObject'
  | 'HeadObject'
  | 'ListMultipartUploads'
  | 'ListObjectsV2'
  | 'ListParts'
  | 'PutObject'
  | 'UploadPart'

export interface S3TestServer {
  readonly url: string
  /** Answers such calls with this status, from now on. */
  fail(call: S3Call, status: number): void
  failNone(): void
  /** Breaks all connections off; new ones may be made. */
  cutConnections(): void
  /** Makes all open multipart uploads have begun then; their parts keep their times. */
  backdateUploads(begun: Date): Promise<void>
  /** How many multipart uploads are open. */
  openUploads(): Promise<number>
  stop(): Promise<void>
}

/** The variables by which the AWS SDK finds the server, and logs in. */
export const s3Settings = ({ url }: Pick<S3TestServer, 'url'>): Readonly<Record<string, string>> => ({
  AWS_ENDPOINT_URL: url,
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'S3RVER',
  AWS_SECRET_ACCESS_KEY: 'S3RVER',
})

/** Sets them for this process. */
export function stubS3Settings(server: S3TestServer): void {
  for (const [name, value] of Object.entries(s3Settings(server))) vi.stubEnv(name, value)
}

export interface S3ServerOptions {
  /** Into how many parts an upload may be divided: Amazon's number where it is left out. */
  readonly maxParts?: number
}

/**
 * An S3 server with one empty bucket: s3rver, and before it, on s3rver's own files, what it lacks of multipart uploads,
 * of `If-Match` and of the signatures of URLs. Any access key will do to reach it, as long as it is `S3RVER` with the secret `S3RVER`.
 */
export async function startS3Server({ maxParts = 10_000 }: S3ServerOptions = {}): Promise<S3TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'wharf-s3-'))
  const s3rver = new S3rver({ directory, silent: true, configureBuckets: [{ name: S3_BUCKET }] })
  await s3rver.configureBuckets()
  const uploads = createUploads(join(directory, S3_BUCKET, '._S3rver_uploads'))
  const answerRest = s3rver.callback()
  const failing = new Map<S3Call, number>()

  const etagOf = async (key: string): Promise<string> =>
    `"${await readFile(join(directory, S3_BUCKET, `${key}._S3rver_object.md5`), 'utf8')}"`

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { call, key, query } = readCall(request)
    const status = failing.get(call)
    if (status !== undefined) return send(response, status, errorXml('Failing'))
    if (query.has('X-Amz-Signature') && !isSignedUrl(request, s3Settings({ url: '' }).AWS_SECRET_ACCESS_KEY ?? '')) {
      return send(response, 403, errorXml('SignatureDoesNotMatch'))
    }
    if (Number(query.get('partNumber')) > maxParts) return send(response, 400, errorXml('InvalidArgument'))
    const uploadId = query.get('uploadId') ?? ''
    if (call === 'AbortMultipartUpload') return uploads.abort(response, uploadId)
    if (call === 'ListMultipartUploads') return uploads.list(response, query)
    if (call === 'ListParts') return uploads.listParts(response, uploadId, query)
    const expected = request.headers['if-match']
    if (expected !== undefined && expected !== (await etagOf(key)))
      return send(response, 412, errorXml('PreconditionFailed'))
    answerRest(request, response)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error('the S3 server of the tests failed', error)
      response.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    fail: (call, status) => failing.set(call, status),
    failNone: () => failing.clear(),
    cutConnections: () => server.closeAllConnections(),
    async backdateUploads(begun) {
      for (const id of await uploads.ids()) await utimes(uploads.keyFileOf(id), begun, begun)
    },
    openUploads: async () => (await uploads.ids()).length,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

interface ReadCall {
  readonly call: S3Call
  readonly key: string
  readonly query: URLSearchParams
}

function readCall({ method = '', url = '' }: IncomingMessage): ReadCall {
  const { pathname, searchParams: query } = new URL(url, 'http://s3')
  const key = decodeURIComponent(pathname.slice(`/${S3_BUCKET}/`.length))
  const ofUpload = query.has('uploadId')
  const calls: Readonly<Record<string, S3Call>> = {
    GET:
      key === ''
        ? query.has('uploads')
          ? 'ListMultipartUploads'
          : 'ListObjectsV2'
        : ofUpload
          ? 'ListParts'
          : 'GetObject',
    HEAD: 'HeadObject',
    PUT: ofUpload ? 'UploadPart' : 'PutObject',
    POST: ofUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload',
    DELETE: ofUpload ? 'AbortMultipartUpload' : 'DeleteObject',
  }
  const call = calls[method]
  if (call === undefined) throw new Error(`the tests' S3 server has no answer to ${method} ${url}`)
  return { call, key, query }
}
