import { z } from 'zod'
import { notFound } from '../../errors.ts'
import { takesGzip, weightedList } from '../../lib/weighted-list.ts'
import { packageFile } from '../../package-file.ts'
import { bytes, empty } from '../answer.ts'
import { type ConsoleFile, readConsoleFiles } from '../console-files.ts'
import { PAGE_POLICY } from '../page-policy.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('console')

const INDEX = 'index.html'

const cachingHeaders = {
  'content-encoding': '`gzip` where the client accepts it.',
  vary: 'The headers of the request that the answer depends on.',
  etag: 'Of these bytes.',
  'cache-control': 'How long they may be kept.',
}

const pageHeaders = {
  ...cachingHeaders,
  'content-security-policy': 'Allows the files of this server, and nothing else.',
}

const headers = z.object({
  accept: z.string().optional(),
  'accept-encoding': z.string().optional(),
  'if-none-match': z.string().optional(),
})

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
  headers,
  answers: {
    200: bytes(['text/javascript', 'text/css', 'image/svg+xml'], 'The file.', cachingHeaders),
    304: empty('The file that the client has is this one.', cachingHeaders),
  },
  errors: ['NOT_FOUND'],
})

/** The console. It is no part of the interface that `/openapi.json` describes: it only uses that. */
export function createConsoleRoutes(folder = packageFile('dist/console')): BoundRoute<unknown>[] {
  let reading: Promise<ReadonlyMap<string, ConsoleFile>> | undefined
  const find = async (name: string): Promise<ConsoleFile | undefined> => {
    reading ??= readConsoleFiles(folder)
    return (await reading).get(name)
  }
  return [
    getConsole.handle(async ({ headers }) => {
      const page = wantsPage(headers.accept) ? await find(INDEX) : undefined
      if (!page) throw notFound('path', '/')
      // With a 304, too: a browser takes its headers for those of the page that it has.
      const sent = { etag: page.etag, 'cache-control': 'no-cache', 'content-security-policy': PAGE_POLICY }
      if (headers['if-none-match'] === page.etag) return { status: 304, headers: sent }
      return toAnswer(page, headers['accept-encoding'], sent)
    }),
    getConsoleFile.handle(async ({ params, headers }) => {
      const file = params.file === INDEX ? undefined : await find(params.file)
      if (!file) throw notFound('path', `/console/${params.file}`)
      // What a file holds is in its name.
      const sent = { etag: file.etag, 'cache-control': 'public, max-age=31536000, immutable' }
      if (headers['if-none-match'] === file.etag) return { status: 304, headers: sent }
      return toAnswer(file, headers['accept-encoding'], sent)
    }),
  ]
}

/** The file, compressed where the client takes that. What is sent is another text then, with an `ETag` that says only what it is of. */
function toAnswer<Sent extends object>(file: ConsoleFile, acceptEncoding: string | undefined, sent: Sent) {
  const coding = takesGzip(acceptEncoding) ? ({ 'content-encoding': 'gzip' } as const) : {}
  const body = 'content-encoding' in coding ? file.gzip : file.bytes
  return {
    status: 200,
    headers: { ...sent, ...coding, vary: 'accept-encoding' },
    body,
    mediaType: file.mediaType,
  } as const
}

/** Browsers name HTML; `curl` and other programs take anything, and get what they got before there was a page. */
const wantsPage = (accept = ''): boolean =>
  weightedList(accept).some(({ name, weight }) => name === 'text/html' && weight > 0)
