import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import S3rver from 's3rver'

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

/**
 * An S3 server with one empty bucket: s3rver, and before it, on s3rver's own files, what it lacks of multipart uploads
 * and of `If-Match`. Any access key will do to reach it, as long as it is `S3RVER` with the secret `S3RVER`.
 */
export async function startS3Server(): Promise<S3TestServer> {
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
    GET: key === '' ? 'ListMultipartUploads' : ofUpload ? 'ListParts' : 'GetObject',
    HEAD: 'HeadObject',
    PUT: ofUpload ? 'UploadPart' : 'PutObject',
    POST: ofUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload',
    DELETE: ofUpload ? 'AbortMultipartUpload' : 'DeleteObject',
  }
  const call = calls[method]
  if (call === undefined) throw new Error(`the tests' S3 server has no answer to ${method} ${url}`)
  return { call, key, query }
}

/** So few, that a list of a handful of uploads has more than one page. */
const PAGE = 2
const PARTS_PAGE = 1

/** Multipart uploads as s3rver keeps them: a folder for each, named by its id, with a file `key` and the parts. */
function createUploads(folder: string) {
  /**
   * Without those that an aborted upload's last part has brought back: s3rver writes that where no `key` is any more.
   */
  const ids = async (): Promise<string[]> => {
    const names = await readdir(folder, { recursive: true }).catch(() => [])
    return names
      .filter((name) => basename(name) === 'key')
      .map(dirname)
      .sort()
  }
  const keyFileOf = (id: string): string => join(folder, id, 'key')
  return {
    ids,
    keyFileOf,
    async abort(response: ServerResponse, id: string): Promise<void> {
      if (!(await ids()).includes(id)) return send(response, 404, errorXml('NoSuchUpload'))
      await rm(keyFileOf(id))
      send(response, 204)
    },
    async list(response: ServerResponse, query: URLSearchParams): Promise<void> {
      const all = await Promise.all(
        (await ids()).map(async (id) => ({
          id,
          key: await readFile(keyFileOf(id), 'utf8'),
          begun: (await stat(keyFileOf(id))).mtime,
        })),
      )
      const after = query.get('upload-id-marker') ?? ''
      const listed = all.filter(({ id, key }) => key.startsWith(query.get('prefix') ?? '') && id > after)
      const page = listed.slice(0, PAGE)
      const last = page.at(-1)
      const uploads = page.map(
        ({ id, key, begun }) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun.toISOString()}</Initiated></Upload>`,
      )
      const markers = last
        ? `<NextKeyMarker>${last.key}</NextKeyMarker><NextUploadIdMarker>${last.id}</NextUploadIdMarker>`
        : ''
      const truncated = `<IsTruncated>${listed.length > PAGE}</IsTruncated>`
      send(response, 200, document('ListMultipartUploadsResult', `${truncated}${markers}${uploads.join('')}`))
    },
    async listParts(response: ServerResponse, id: string, query: URLSearchParams): Promise<void> {
      if (!(await ids()).includes(id)) return send(response, 404, errorXml('NoSuchUpload'))
      const names = (await readdir(join(folder, id))).filter((name) => /^\d+$/.test(name))
      const after = Number(query.get('part-number-marker') ?? 0)
      const numbers = names.map(Number).filter((number) => number > after)
      const page = numbers.sort((a, b) => a - b).slice(0, PARTS_PAGE)
      const parts = await Promise.all(
        page.map(async (number) => {
          const { mtime, size } = await stat(join(folder, id, String(number)))
          const modified = `<LastModified>${mtime.toISOString()}</LastModified>`
          return `<Part><PartNumber>${number}</PartNumber>${modified}<Size>${size}</Size></Part>`
        }),
      )
      const truncated = `<IsTruncated>${numbers.length > PARTS_PAGE}</IsTruncated>`
      // Given on every page, by Amazon and by others.
      const head = `<NextPartNumberMarker>${page.at(-1) ?? 0}</NextPartNumberMarker>${truncated}`
      send(response, 200, document('ListPartsResult', head + parts.join('')))
    },
  }
}

const document = (root: string, content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${content}</${root}>`

const errorXml = (code: string): string => document('Error', `<Code>${code}</Code><Message>${code}</Message>`)

function send(response: ServerResponse, status: number, body = ''): void {
  response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' })
  response.end(body)
}
