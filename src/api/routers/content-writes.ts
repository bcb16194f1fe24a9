import type { IncomingHttpHeaders } from 'node:http'
import type { z } from 'zod'
import type { Container } from '../../container.ts'
import { type ContentAccess, mayRead } from '../../content/admission.ts'
import { jsonTextOf, OTHER_BODY_TYPES } from '../../content/body-text.ts'
import { appliedOf, formFor, type Preferences, preferencesOf } from '../../content/preferences.ts'
import { profileOf } from '../../content/profile.ts'
import { POSTGREST, POSTGREST_SAYS, ROW_TYPES } from '../../content/query/index.ts'
import { contentRangeOf } from '../../content/read-rows.ts'
import type { RowsWrite, Written } from '../../content/write-rows.ts'
import type { Caller } from '../../projects/access.ts'
import type { Access } from '../access.ts'
import { bytes, empty } from '../answer.ts'
import { rawBody } from '../body.ts'
import { decodeUtf8 } from '../read-body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { admitTo, profilesIn, rowsSchema, tableParams } from './content.ts'
import { writeHeaders, writeQuery } from './content-parameters.ts'

const MAX_BODY_BYTES = 16 * 1024 * 1024

const WRITE_HEADERS = {
  'x-service-ref': 'The event that the write caused; missing where it changed nothing.',
  'content-range': 'How many rows were written, with `Prefer: count=exact`.',
  'preference-applied': 'The preferences that were applied.',
  'content-profile': 'What `Content-Profile` named.',
}

const route = routesUnder('Content')
const access = { by: 'visitor', permission: 'content.write', project: 'project' } as const satisfies Access

const shared = {
  access,
  params: tableParams,
  dialect: { query: writeQuery, headers: writeHeaders },
  errors: [
    'AMBIGUOUS_RELATION',
    'CONFLICT',
    'ATTACHED_PROJECT',
    'CONSTRAINT_VIOLATED',
    'RAISED',
    'QUERY_TIMED_OUT',
    'NOT_ACCEPTABLE',
  ],
} as const

const body = rawBody('application/json', {
  maxBytes: MAX_BODY_BYTES,
  otherTypes: OTHER_BODY_TYPES,
  description:
    'One row as an object, or an array of them; rows as CSV whose first line names the columns; or one row as a form.',
  missing: { postgrestCode: POSTGREST.malformedBody, postgrest: POSTGREST_SAYS.malformedJson },
  // As PostgREST has it.
  isAssumed: true,
})

const insert = route('POST /content/{project}/{stage}/{table}', {
  ...shared,
  operationId: 'insertRows',
  summary: 'Inserts rows; `Prefer: resolution=…` says what becomes of those whose key exists',
  body,
  answers: {
    200: bytes(
      ROW_TYPES,
      'With `Prefer: resolution=merge-duplicates`, no row is new: those that were there were changed.',
      WRITE_HEADERS,
      rowsSchema,
    ),
    201: bytes(
      ROW_TYPES,
      'The rows were inserted; the body has them where that was asked for.',
      {
        ...WRITE_HEADERS,
        location: 'Path of the inserted row, with `Prefer: return=headers-only`.',
      },
      rowsSchema,
    ),
  },
})

const changed = {
  200: bytes(ROW_TYPES, 'The rows that were written.', WRITE_HEADERS, rowsSchema),
  204: empty('Done; `Prefer: return=representation` shows the rows.', WRITE_HEADERS),
}

const update = route('PATCH /content/{project}/{stage}/{table}', {
  ...shared,
  operationId: 'updateRows',
  summary: 'Changes the rows that a filter names',
  body,
  answers: changed,
})

const put = route('PUT /content/{project}/{stage}/{table}', {
  ...shared,
  operationId: 'putRow',
  summary: 'Puts one row in the place of the one that has its primary key, which filters name',
  errors: [...shared.errors, 'METHOD_NOT_ALLOWED'],
  body,
  answers: { ...changed, 201: bytes(ROW_TYPES, 'The row is new.', WRITE_HEADERS, rowsSchema) },
})

const remove = route('DELETE /content/{project}/{stage}/{table}', {
  ...shared,
  operationId: 'deleteRows',
  summary: 'Deletes the rows that a filter names',
  answers: changed,
})

interface WriteCall {
  readonly caller: ContentAccess
  readonly params: z.output<typeof tableParams>
  readonly body: Buffer | undefined
  readonly request: {
    readonly search: URLSearchParams
    readonly headers: IncomingHttpHeaders
  }
}

/** `POST`, `PATCH` and `DELETE` of `/content/{project}/{stage}/{table}` */
export function contentWriteRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { content } = container
  const admit = admitTo(container, access.permission)

  const write = async (kind: RowsWrite['kind'], call: WriteCall) => {
    const { caller: granted, params, request, body } = call
    const form = formFor(request.headers.accept)
    const profile = profileOf(granted, profilesIn(request.headers))
    const preferences = preferencesOf([request.headers.prefer ?? ''].flat().join(','))
    const written = await content.write(granted, {
      kind,
      table: params.table,
      parameters: [...request.search],
      body: body && jsonTextOf(decodeUtf8(body), request.headers['content-type']),
      form,
      preferences,
      mayRead: mayRead(granted),
      tokenId: granted.tokenId === 'root' ? undefined : granted.tokenId,
    })
    return {
      written,
      preferences,
      shown: shownOf(written),
      headers: { ...headersOf(kind, written, preferences), 'content-profile': profile },
    }
  }

  const change = async (kind: 'update' | 'delete', call: WriteCall) => {
    const { shown, headers } = await write(kind, call)
    return shown ? ({ status: 200, headers, ...shown } as const) : ({ status: 204, headers } as const)
  }

  return [
    insert.admit<Caller, ContentAccess>(admit, async (call) => {
      const { written, shown, headers, preferences } = await write('insert', call)
      const isNothingNew = preferences.resolution === 'merge-duplicates' && written.rows === written.merged
      const location = written.key === undefined ? undefined : locationOf(call, written.key)
      return { status: isNothingNew ? 200 : 201, body: '', ...shown, headers: { ...headers, location } }
    }),
    put.admit<Caller, ContentAccess>(admit, async (call) => {
      const { written, shown, headers } = await write('put', call)
      if (!shown) return { status: 204, headers }
      return { status: written.merged === 0 ? 201 : 200, headers, ...shown }
    }),
    update.admit<Caller, ContentAccess>(admit, (call) => change('update', call)),
    remove.admit<Caller, ContentAccess>(admit, (call) => change('delete', call)),
  ]
}

const shownOf = ({ body, contentType }: Written) => (body === undefined ? undefined : { body, mediaType: contentType })

const ALWAYS = ['return', 'count', 'tx', 'handling', 'timezone', 'max-affected'] as const

const APPLIED = {
  insert: ['missing', ...ALWAYS],
  update: ['missing', ...ALWAYS],
  put: ALWAYS,
  delete: ALWAYS,
} as const satisfies Record<RowsWrite['kind'], readonly (keyof Preferences)[]>

const headersOf = (kind: RowsWrite['kind'], { reference, rows, matched }: Written, preferences: Preferences) => ({
  'x-service-ref': reference,
  'content-range': contentRangeOf(0, kind === 'update' ? rows : 0, preferences.count === undefined ? null : rows),
  'preference-applied': appliedOf(
    preferences,
    kind === 'insert' && matched ? ['resolution', ...APPLIED.insert] : APPLIED[kind],
  ),
})

/** @param key JSON object of the key's columns, with values as text. */
function locationOf({ caller: { project, stage }, params: { table } }: WriteCall, key: string): string {
  const filters = Object.entries(JSON.parse(key)).map(
    ([column, value]) =>
      `${encodeURIComponent(column)}=${value === null ? 'is.null' : `eq.${encodeURIComponent(String(value))}`}`,
  )
  return `/content/${project.slug}/${stage.slug}/${encodeURIComponent(table)}?${filters.join('&')}`
}
