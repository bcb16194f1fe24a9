import { join } from 'node:path'
import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { packageFile } from '../../package-file.ts'
import { bytes, empty } from '../answer.ts'
import { readGuides } from '../docs/guides.ts'
import { renderDocs } from '../docs/pages.ts'
import type { OpenApiDocument } from '../openapi.ts'
import {
  FOR_EVER,
  fileHeaders,
  fileRequestHeaders,
  type PageFile,
  pageHeaders,
  readPageFiles,
  toFileAnswer,
  toPageFile,
} from '../page-files.ts'
import { PAGE_POLICY } from '../page-policy.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('service')

const pageAnswers = {
  200: bytes('text/html', 'The page.', pageHeaders),
  304: empty('The page that the client has is this one.', pageHeaders),
}

export const getDocs = route('GET /docs', {
  operationId: 'getDocs',
  summary: 'This description and the guides, for reading',
  access: { by: 'anyone' },
  headers: fileRequestHeaders,
  answers: pageAnswers,
})

const page = {
  access: { by: 'anyone' },
  quiet: true,
  headers: fileRequestHeaders,
  answers: pageAnswers,
  errors: ['NOT_FOUND'],
} as const

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
  headers: fileRequestHeaders,
  answers: {
    200: bytes(
      ['text/javascript', 'text/css', 'image/svg+xml', 'image/png', 'application/json'],
      'The file.',
      fileHeaders,
    ),
    304: empty('The file that the client has is this one.', fileHeaders),
  },
  errors: ['NOT_FOUND'],
})

interface Files {
  readonly pages: ReadonlyMap<string, PageFile>
  readonly files: ReadonlyMap<string, PageFile>
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
  const made = (): Promise<Files> => (making ??= makeFiles(describe(), folder))
  const sendPage = async (path: string, headers: z.output<typeof fileRequestHeaders>) => {
    const file = (await made()).pages.get(path)
    if (!file) throw notFound('path', path)
    return toFileAnswer(file, headers, { 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY })
  }
  return [
    getDocs.handle(({ headers }) => sendPage('/docs', headers)),
    getDocsPage.handle(({ params, headers }) => sendPage(`/docs/${params.page}`, headers)),
    getDocsPageOfFolder.handle(({ params, headers }) => sendPage(`/docs/${params.folder}/${params.page}`, headers)),
    getDocsFile.handle(async ({ params, headers }) => {
      const file = (await made()).files.get(params.file)
      if (!file) throw notFound('path', `/docs/files/${params.file}`)
      // What a file holds is in its name, but for what search looks through.
      return toFileAnswer(file, headers, { 'cache-control': params.file === SEARCHED ? 'no-cache' : FOR_EVER })
    }),
  ]
}

const SEARCHED = 'search.json'

async function makeFiles(document: OpenApiDocument, folder: string): Promise<Files> {
  const [files, guides] = await Promise.all([
    readPageFiles(join(folder, 'files')),
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

const toFile = (text: string, mediaType: string): PageFile => toPageFile(Buffer.from(text), mediaType)
