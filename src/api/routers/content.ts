import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Container } from '../../container.ts'
import type { ContentAccess, ContentPermission } from '../../content/admission.ts'
import type { Answered, ReadRequest } from '../../content/kept-answers.ts'
import { appliedOf, formFor, nameOfForm, preferencesOf, rangeOf } from '../../content/preferences.ts'
import { profileOf } from '../../content/profile.ts'
import { MADE_TYPES, parameterSource, ROW_TYPES } from '../../content/query/index.ts'
import { etagOf, isCurrent } from '../../content/validators.ts'
import { slug } from '../../contract/fields.ts'
import { type AppError, invalidRequest } from '../../errors.ts'
import { takesGzip } from '../../lib/weighted-list.ts'
import type { Caller } from '../../projects/access.ts'
import type { Access } from '../access.ts'
import { bytes, empty } from '../answer.ts'
import { assertAcceptable } from '../assert-acceptable.ts'
import { type Admit, type BoundRoute, type Credentials, routesUnder } from '../route.ts'
import { overviewSchema } from './content-overview.ts'
import { readHeaders, readQuery } from './content-parameters.ts'

const route = routesUnder('Content')
const access = { by: 'visitor', permission: 'content.read', project: 'project' } as const satisfies Access
const stageParams = z.object({ project: slug, stage: slug })
export const tableParams = z.object({ project: slug, stage: slug, table: z.string() })

export const VALIDATORS = {
  'x-service-ref': 'The UUID of the latest event of the stage, to be sent with the next request.',
  etag: 'The same as an entity tag.',
  vary: 'The headers of the request that the answer depends on.',
}

export const READ_HEADERS = {
  ...VALIDATORS,
  'x-cache': '`hit` where the answer was in the cache for this reference, otherwise `miss`.',
  'content-encoding': '`gzip` where the client accepts it and the answer is shorter with it.',
  'content-range':
    'Which rows these are, and how many there are in all: `0-19/120`, or `0-19/*` where the total was not asked for.',
  'preference-applied': 'The preferences that were applied.',
  'content-location': 'Path and query of these rows, its parameters in one order; missing where it is long.',
  'content-profile': 'What `Accept-Profile` named.',
}

export const rowsSchema = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])

const getStage = route('GET /content/{project}/{stage}', {
  operationId: 'getStage',
  direct: true,
  summary: 'The stage at a glance: tables, columns, relations, row counts',
  access,
  params: stageParams,
  dialect: { query: z.object({}), headers: readHeaders },
  answers: {
    200: bytes('application/json', 'The stage as it is now.', READ_HEADERS, overviewSchema),
    304: empty('The client has the current version.', VALIDATORS),
  },
  errors: ['CONFLICT', 'ATTACHED_PROJECT', 'QUERY_TIMED_OUT'],
})

const getRows = route('GET /content/{project}/{stage}/{table}', {
  operationId: 'getRows',
  direct: true,
  summary: "A table's rows",
  description: "Filters, selection, embedding, order and paging are in PostgREST's query dialect (docs/content.md).",
  access,
  params: tableParams,
  dialect: { query: readQuery, headers: readHeaders },
  answers: {
    200: bytes([...ROW_TYPES, MADE_TYPES], 'The rows.', READ_HEADERS, rowsSchema),
    206: bytes([...ROW_TYPES, MADE_TYPES], 'Some of the rows.', READ_HEADERS, rowsSchema),
    304: empty('The client has the current version.', VALIDATORS),
  },
  errors: ['AMBIGUOUS_RELATION', 'CONFLICT', 'ATTACHED_PROJECT', 'RANGE_NOT_SATISFIABLE', 'RAISED', 'QUERY_TIMED_OUT'],
})

/** Looks up the caller's rights and the stage's latest event in one read. */
export const admitTo =
  ({ content }: Container, permission: ContentPermission): Admit<ContentAccess> =>
  ({ token, params, identify }: Credentials) =>
    content.admit({
      token,
      project: String(params.project),
      stage: String(params.stage),
      relation: typeof params.table === 'string' ? params.table : undefined,
      permission,
      identify,
    })

/** `GET /content/{project}/{stage}`, with and without a table */
export function contentRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { content } = container
  const admit = admitTo(container, access.permission)
  return [
    getStage.admit<Caller, ContentAccess>(
      admit,
      async ({ caller: granted, request: { headers, search } }) => {
        assertAcceptable(['application/json'], headers.accept)
        const profile = profileOf(granted, profilesIn(headers))
        for (const name of search.keys()) throw notTaken(name)
        if (isKnown(headers, granted, 'json')) return unchanged(granted, 'json')
        const answered = await content.overview(granted, {
          canonical: 'overview',
          gzip: takesGzip(headers['accept-encoding']),
        })
        return describe(answered, 'json', 200, { profile })
      },
      () => 'OPTIONS,GET,HEAD',
    ),
    getRows.admit<Caller, ContentAccess>(
      admit,
      async ({ caller: granted, params, request }) => {
        const { headers, queryText } = request
        const form = formFor(headers.accept)
        const etagForm = nameOfForm(form)
        const known = isKnown(headers, granted, etagForm)
        const profile = profileOf(granted, profilesIn(headers))
        const preferences = preferencesOf(header(headers.prefer))
        const range = rangeOf(headers.range)
        const { count, timezone } = preferences
        const query = () => ({ form, table: params.table, parameters: [...request.search], count, range, timezone })
        if (known && !(await content.isUnseen(granted, query))) return unchanged(granted, etagForm)
        const ordered = inOneOrder(queryText)
        const asked: ReadRequest = {
          canonical: `rows\n${etagForm} ${count} ${range?.offset} ${range?.limit} ${timezone}\n${ordered}\n${params.table}`,
          gzip: takesGzip(headers['accept-encoding']),
        }
        const answered = await content.rows(granted, asked, query)
        return describe(answered, etagForm, answered.answer.status, {
          applied: appliedOf(preferences, ['count', 'tx', 'handling', 'timezone']),
          location: locationOf(granted, params.table, ordered),
          profile,
        })
      },
      ({ caller: granted, params: { table } }) => content.allowedMethods(granted, { table }),
    ),
  ]
}

/** What both headers for a schema name; those of a method that has no use for one are held to it, too. */
export const profilesIn = (headers: IncomingHttpHeaders): readonly unknown[] => [
  headers['accept-profile'],
  headers['content-profile'],
]

export const header = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : value?.join(', ')

export const isKnown = (headers: IncomingHttpHeaders, { version }: ContentAccess, form: string): boolean =>
  isCurrent(
    { serviceRef: header(headers['x-service-ref']), ifNoneMatch: headers['if-none-match'] },
    version.reference,
    form,
  )

/** Every client has to ask again each time, which is cheap, and no cache may give one client's answer to another. */
const CACHE_CONTROL = 'private, no-cache'

const VARY = 'authorization, accept, accept-encoding, prefer, range, x-service-ref'

export const validators = (reference: string, form: string) => ({
  'x-service-ref': reference,
  etag: etagOf(reference, form),
  'cache-control': CACHE_CONTROL,
  vary: VARY,
})

export const unchanged = ({ version }: ContentAccess, form: string) =>
  ({ status: 304, headers: validators(version.reference, form) }) as const

export const describe = <S extends 200 | 206>(
  { answer, hit }: Answered,
  form: string,
  status: S,
  said: {
    readonly applied?: string | undefined
    readonly location?: string | undefined
    readonly profile: string | undefined
  },
) => ({
  status,
  body: answer.body,
  mediaType: answer.contentType,
  // All by name, and none added to the validators: V8 takes microseconds for each field that comes behind a spread.
  headers: {
    'x-service-ref': answer.reference,
    etag: etagOf(answer.reference, form),
    'cache-control': CACHE_CONTROL,
    vary: VARY,
    'x-cache': hit ? 'hit' : 'miss',
    'content-encoding': answer.coding === 'gzip' ? 'gzip' : undefined,
    'content-range': answer.contentRange,
    'preference-applied': said.applied,
    'content-location': said.location,
    'content-profile': said.profile,
  },
})

/** A client may take no more in the head of an answer than 16 kB, for all headers. */
const MAX_LOCATION = 4096

function locationOf({ project, stage }: ContentAccess, table: string, query: string): string | undefined {
  const path = `/content/${project.slug}/${stage.slug}/${encodeURIComponent(table)}`
  const location = query === '' ? path : `${path}?${query}`
  return location.length > MAX_LOCATION ? undefined : location
}

const notTaken = (name: string): AppError =>
  invalidRequest(
    `${parameterSource(name)}: this address takes no parameters; those for rows go behind the name of a table`,
  )

/** Parameters by name; those of one name stay in the order in which they came, which can mean something. */
export function inOneOrder(queryText: string): string {
  if (!queryText.includes('&')) return queryText
  const nameOf = (parameter: string): string => parameter.slice(0, Math.max(0, parameter.indexOf('=')))
  return queryText
    .split('&')
    .map((parameter) => ({ parameter, name: nameOf(parameter) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ parameter }) => parameter)
    .join('&')
}
