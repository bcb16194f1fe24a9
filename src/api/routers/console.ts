import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { weightedList } from '../../lib/weighted-list.ts'
import { packageFile } from '../../package-file.ts'
import { bytes, empty } from '../answer.ts'
import {
  FOR_EVER,
  fileHeaders,
  fileRequestHeaders,
  type PageFile,
  pageHeaders,
  readPageFiles,
  toFileAnswer,
} from '../page-files.ts'
import { PAGE_POLICY } from '../page-policy.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('console')

const INDEX = 'index.html'

const headers = fileRequestHeaders.extend({ accept: z.string().optional() })

const getConsole = route('GET /', {
  operationId: 'getConsole',
  summary: 'The console: a page for people',
  access: { by: 'anyone' },
  headers,
  answers: {
    // Programs that ask for JSON are not refused for its type: to them, nothing is here.
    200: bytes(['text/html', 'application/json'], 'The page.', pageHeaders),
    304: empty('The page that the client has is this one.', pageHeaders),
  },
  errors: ['NOT_FOUND'],
})

const getConsoleFile = route('GET /console/{file}', {
  operationId: 'getConsoleFile',
  summary: 'A file of the console',
  access: { by: 'anyone' },
  quiet: true,
  params: z.object({ file: z.string() }),
  headers: fileRequestHeaders,
  answers: {
    200: bytes(['text/javascript', 'text/css', 'image/svg+xml'], 'The file.', fileHeaders),
    304: empty('The file that the client has is this one.', fileHeaders),
  },
  errors: ['NOT_FOUND'],
})

/** The console. It is no part of the interface that `/openapi.json` describes: it only uses that. */
export function createConsoleRoutes(folder = packageFile('dist/console')): BoundRoute<unknown>[] {
  let reading: Promise<ReadonlyMap<string, PageFile>> | undefined
  const find = async (name: string): Promise<PageFile | undefined> => {
    reading ??= readPageFiles(folder)
    return (await reading).get(name)
  }
  return [
    getConsole.handle(async ({ headers }) => {
      const page = wantsPage(headers.accept) ? await find(INDEX) : undefined
      if (!page) throw notFound('path', '/')
      return toFileAnswer(page, headers, { 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY })
    }),
    getConsoleFile.handle(async ({ params, headers }) => {
      const file = params.file === INDEX ? undefined : await find(params.file)
      if (!file) throw notFound('path', `/console/${params.file}`)
      return toFileAnswer(file, headers, { 'cache-control': FOR_EVER })
    }),
  ]
}

/** Browsers name HTML; `curl` and other programs take anything, and get what they got before there was a page. */
const wantsPage = (accept = ''): boolean =>
  weightedList(accept).some(({ name, weight }) => name === 'text/html' && weight > 0)
