import { join } from 'node:path'
import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { packageFile } from '../../package-file.ts'
import { bytes, empty } from '../answer.ts'
import { type ConsoleFile, readConsoleFiles, toConsoleFile } from '../console-files.ts'
import { readGuides } from '../docs/guides.ts'
import { renderDocs } from '../docs/pages.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { PAGE_POLICY } from '../page-policy.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('service')

const cachingHeaders = { etag: 'Of these bytes.', 'cache-control': 'How long they may be kept.' }
const policyHeader = { 'content-security-policy': 'Allows the files of this server, and nothing else.' }

const headers = z.object({ 'if-none-match': z.string().optional() })

const pageAnswers = {
  200: bytes('text/html', 'The page.', { ...cachingHeaders, ...policyHeader }),
  304: empty('The page that the client has is this one.', { ...cachingHeaders, ...policyHeader }),
}

export const getDocs = route('GET /docs', {
  operationId: 'getDocs',
  summary: 'This description and the guides, for reading',
  access: { by: 'anyone' },
  headers,
  answers: pageAnswers,
})

const page = { access: { by: 'anyone' }, quiet: true, headers, answers: pageAnswers, errors: ['NOT_FOUND'] } as const

const getDocsPage = route('GET /docs/{page}', {
  ...page,
  operationId: 'getDocsPage',
  summary: 'A guide',
  params: z.object({ page: z.string() }),
})

const getDocsPageOfFolder = route('GET /docs/{folder}/{page}', {
  ...page,
  operationId: 'getDocsPageOfFolder',
  summary: 'A guide, or the calls under one heading',
  params: z.object({ folder: z.string(), page: z.string() }),
})

const getDocsFile = route('GET /docs/files/{file}', {
  operationId: 'getDocsFile',
  summary: 'A file that the pages need',
  access: { by: 'anyone' },
  quiet: true,
  params: z.object({ file: z.string() }),
  headers,
  answers: {
    200: bytes(['text/javascript', 'text/css', 'image/svg+xml', 'application/json'], 'The file.', cachingHeaders),
    304: empty('The file that the client has is this one.', cachingHeaders),
  },
  errors: ['NOT_FOUND'],
})

interface Files {
  readonly pages: ReadonlyMap<string, ConsoleFile>
  readonly files: ReadonlyMap<string, ConsoleFile>
}

/**
 * The pages at `/docs`. Beside the first they are no part of the interface that `/openapi.json` describes.
 *
 * @param describe the interface, once it is asked for.
 */
export function createDocsRoutes(
  describe: () => OpenApiDocument,
  folder = packageFile('dist/docs'),
): BoundRoute<unknown>[] {
  let making: Promise<Files> | undefined
  const send = async ({
    find,
    path,
    etag,
  }: {
    find: (files: Files) => ConsoleFile | undefined
    path: string
    etag: string | undefined
  }) => {
    making ??= makeFiles(describe(), folder)
    const file = find(await making)
    if (!file) throw notFound('path', path)
    return { file, isKnown: etag === file.etag }
  }
  const sendPage = async (path: string, etag: string | undefined) => {
    const { file, isKnown } = await send({ find: ({ pages }) => pages.get(path), path, etag })
    // With a 304, too: a browser takes its headers for those of the page that it has.
    const sent = { etag: file.etag, 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY }
    if (isKnown) return { status: 304, headers: sent } as const
    return { status: 200, headers: sent, body: file.bytes, mediaType: file.mediaType } as const
  }
  return [
    getDocs.handle(({ headers }) => sendPage('/docs', headers['if-none-match'])),
    getDocsPage.handle(({ params, headers }) => sendPage(`/docs/${params.page}`, headers['if-none-match'])),
    getDocsPageOfFolder.handle(({ params, headers }) =>
      sendPage(`/docs/${params.folder}/${params.page}`, headers['if-none-match']),
    ),
    getDocsFile.handle(async ({ params, headers }) => {
      const path = `/docs/files/${params.file}`
      const { file, isKnown } = await send({
        find: ({ files }) => files.get(params.file),
        path,
        etag: headers['if-none-match'],
      })
      // What a file holds is in its name, but for what search looks through.
      const caching = params.file === SEARCHED ? 'no-cache' : 'public, max-age=31536000, immutable'
      const sent = { etag: file.etag, 'cache-control': caching }
      if (isKnown) return { status: 304, headers: sent }
      return { status: 200, headers: sent, body: file.bytes, mediaType: file.mediaType }
    }),
  ]
}

const SEARCHED = 'search.json'

async function makeFiles(document: OpenApiDocument, folder: string): Promise<Files> {
  const [files, guides] = await Promise.all([
    readConsoleFiles(join(folder, 'files')),
    readGuides(join(folder, 'guides.json')),
  ])
  const named = (ending: string): string => {
    const name = [...files.keys()].find((file) => file.endsWith(ending))
    return name === undefined ? '' : `/docs/files/${name}`
  }
  const assets = { script: named('.js'), style: named('.css'), icon: named('.svg') }
  const { pages, searched } = renderDocs(document, guides, assets)
  return {
    pages: new Map([...pages].map(([path, text]) => [path, toFile(text, 'text/html;charset=utf-8')])),
    files: new Map([...files, [SEARCHED, toFile(JSON.stringify(searched), 'application/json')]]),
  }
}

const toFile = (text: string, mediaType: string): ConsoleFile => toConsoleFile(Buffer.from(text), mediaType)
