import { readdir, readFile, rm, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { basename, dirname, join } from 'node:path'

/** So few, that a list of a handful of uploads has more than one page. */
const PAGE = 2
const PARTS_PAGE = 1

/** Multipart uploads as s3rver keeps them: a folder for each, named by its id, with a file `key` and the parts. */
export function createUploads(folder: string) {
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

export const errorXml = (code: string): string => document('Error', `<Code>${code}</Code><Message>${code}</Message>`)

export function send(response: ServerResponse, status: number, body = ''): void {
  response.writeHead(status, { 'content-type': 'application/xml', connection: 'close' })
  response.end(body)
}
