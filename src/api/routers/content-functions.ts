import { z } from 'zod'
import type { Container } from '../../container.ts'
import type { ContentAccess } from '../../content/admission.ts'
import { jsonTextOf, OTHER_BODY_TYPES } from '../../content/body-text.ts'
import type { CallQuery } from '../../content/call-function.ts'
import type { ReadRequest } from '../../content/kept-answers.ts'
import { appliedOf, callFormsFor, preferencesOf, rangeOf } from '../../content/preferences.ts'
import { profileOf } from '../../content/profile.ts'
import { type CallBody, type CallForm, MADE_TYPES, RESULT_TYPES } from '../../content/query/index.ts'
import { slug } from '../../contract/fields.ts'
import { takesGzip } from '../../lib/weighted-list.ts'
import type { Caller } from '../../projects/access.ts'
import type { Access } from '../access.ts'
import { bytes, empty } from '../answer.ts'
import { rawBody } from '../body.ts'
import { decodeUtf8 } from '../read-body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import {
  admitTo,
  describe,
  header,
  inOneOrder,
  isKnown,
  profilesIn,
  READ_HEADERS,
  unchanged,
  VALIDATORS,
} from './content.ts'
import { callHeaders, readHeaders, readQuery } from './content-parameters.ts'

const MAX_BODY_BYTES = 16 * 1024 * 1024

const route = routesUnder('Content')
const access = { by: 'visitor', permission: 'content.read', project: 'project' } as const satisfies Access
const functionParams = z.object({ project: slug, stage: slug, function: z.string() })
const resultSchema = z.unknown()
const ANSWER_TYPES = [...RESULT_TYPES, MADE_TYPES] as const

const shared = {
  access,
  params: functionParams,
  errors: [
    'CONFLICT',
    'ATTACHED_PROJECT',
    'AMBIGUOUS_FUNCTION',
    'METHOD_NOT_ALLOWED',
    'NOT_ACCEPTABLE',
    'RANGE_NOT_SATISFIABLE',
    'CONSTRAINT_VIOLATED',
    'RAISED',
    'QUERY_TIMED_OUT',
  ],
} as const

const readFunction = route('GET /content/{project}/{stage}/rpc/{function}', {
  ...shared,
  operationId: 'readFunction',
  summary: 'Calls a function to read, with arguments from the query; one that writes is refused',
  description:
    'A parameter whose value is no filter is the argument of its name. What the function returns is filtered, selected, embedded and ordered like the rows of a table (docs/content.md).',
  dialect: { query: readQuery, headers: readHeaders },
  answers: {
    200: bytes(ANSWER_TYPES, 'What the function returned.', READ_HEADERS, resultSchema),
    206: bytes(ANSWER_TYPES, 'Some of it.', READ_HEADERS, resultSchema),
    204: empty('The function returns nothing.', VALIDATORS),
    304: empty('The client has the current version; of functions that are IMMUTABLE.', VALIDATORS),
  },
})

const CALL_HEADERS = {
  'x-service-ref': 'The event that the call caused; missing where it changed nothing in the stage.',
  'content-range': 'Which results these are, and how many there are in all, with `Prefer: count=exact`.',
  'preference-applied': 'The preferences that were applied.',
  'content-profile': 'What `Content-Profile` named.',
}

const callFunction = route('POST /content/{project}/{stage}/rpc/{function}', {
  ...shared,
  operationId: 'callFunction',
  summary: 'Calls a function; where it is VOLATILE it may write, and needs `content.write` too',
  description:
    'The body has the arguments by name, or is the only argument of a function that takes one without a name: of type `json`, `jsonb`, `text`, `xml` or `bytea`.',
  dialect: { query: readQuery, headers: callHeaders },
  body: rawBody('application/json', {
    otherTypes: [...OTHER_BODY_TYPES, 'text/plain', 'text/xml', 'application/octet-stream'],
    maxBytes: MAX_BODY_BYTES,
    description: 'The arguments, as an object, as fields of a form or as a line of CSV; or one argument as a whole.',
    isAssumed: true,
    isOptional: true,
  }),
  answers: {
    200: bytes(ANSWER_TYPES, 'What the function returned.', CALL_HEADERS, resultSchema),
    206: bytes(ANSWER_TYPES, 'Some of it.', CALL_HEADERS, resultSchema),
    204: empty('The function returns nothing.', CALL_HEADERS),
  },
})

/** `/content/{project}/{stage}/rpc/{function}` */
export function contentFunctionRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { content } = container
  const admit = admitTo(container, access.permission)
  return [
    readFunction.admit<Caller, ContentAccess>(
      admit,
      async ({ caller: granted, params, request }) => {
        const { headers, queryText, method } = request
        const forms = callFormsFor(headers.accept)
        // Which of them it is follows from the function.
        const etagForm = [...new Set(forms.map(nameOf))].join('+')
        const preferences = preferencesOf(header(headers.prefer))
        // As RFC 9110 has it, and PostgREST: a range is for GET.
        const range = method === 'GET' ? rangeOf(headers.range) : undefined
        const profile = profileOf(granted, profilesIn(headers))
        const { count, timezone } = preferences
        const asked: ReadRequest = {
          canonical: `function\n${etagForm} ${count} ${range?.offset} ${range?.limit} ${timezone}\n${inOneOrder(queryText)}\n${params.function}`,
          gzip: takesGzip(headers['accept-encoding']),
        }
        const query: CallQuery = {
          call: { name: params.function, parameters: [...request.search], body: undefined },
          forms,
          count: count !== undefined,
          range,
          preferences,
          tokenId: undefined,
        }
        const read = await content.readFunction(granted, asked, query, isKnown(headers, granted, etagForm))
        if (read.kind === 'unchanged') return unchanged(granted, etagForm)
        if (read.kind === 'nothing') return { status: 204 }
        return describe(read.answered, etagForm, read.answered.answer.status, {
          applied: appliedOf(preferences, ['count', 'tx', 'handling', 'timezone']),
          profile,
        })
      },
      ({ caller: granted, params }) => content.allowedMethods(granted, { function: params.function }),
    ),
    callFunction.admit<Caller, ContentAccess>(admit, async ({ caller: granted, params, request, body }) => {
      const { headers } = request
      const preferences = preferencesOf(header(headers.prefer))
      const profile = profileOf(granted, profilesIn(headers))
      const { answer, reference } = await content.callFunction(granted, {
        call: { name: params.function, parameters: [...request.search], body: bodyOf(body, headers['content-type']) },
        forms: callFormsFor(headers.accept),
        count: preferences.count !== undefined,
        range: undefined,
        preferences,
        tokenId: granted.tokenId === 'root' ? undefined : granted.tokenId,
      })
      const said = {
        'preference-applied': appliedOf(preferences, ['count', 'tx', 'handling', 'timezone', 'max-affected']),
        'content-profile': profile,
      }
      if (!answer) return { status: 204, headers: { 'x-service-ref': reference, ...said } }
      return {
        status: answer.status,
        body: answer.body,
        mediaType: answer.contentType,
        headers: {
          'x-service-ref': reference,
          'content-range': answer.contentRange,
          ...said,
        },
      }
    }),
  ]
}

const nameOf = ({ format, stripNulls, raw, made }: CallForm): string =>
  raw ?? made ?? (stripNulls ? `${format}.stripped` : format)

/** What a body is by its type, which the route has checked. */
function bodyOf(body: Buffer, contentType = 'application/json'): CallBody {
  const [type = ''] = contentType.toLowerCase().split(';')
  switch (type.trim()) {
    case 'application/octet-stream':
      return { kind: 'bytes', bytes: body }
    case 'application/x-www-form-urlencoded':
      return { kind: 'form', fields: [...new URLSearchParams(decodeUtf8(body))] }
    case 'text/plain':
      return { kind: 'text', text: decodeUtf8(body) }
    case 'text/xml':
      return { kind: 'xml', text: decodeUtf8(body) }
    case 'text/csv':
      return { kind: 'csv', text: jsonTextOf(decodeUtf8(body), contentType) }
    default:
      return { kind: 'json', text: decodeUtf8(body) }
  }
}
