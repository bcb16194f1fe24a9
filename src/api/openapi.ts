import { createDocument, type oas31, type ZodOpenApiOperationObject, type ZodOpenApiResponseObject } from 'zod-openapi'
import { problemSchema } from '../contract/problem.ts'
import type { ErrorCode } from '../errors.ts'
import { type Access, authOf, describeAccess } from './access.ts'
import type { AnswerSpec } from './answer.ts'
import { answerTypes, mediaTypesOf } from './assert-acceptable.ts'
import type { BodySpec } from './body.ts'
import { PROBLEM_TYPE_INTERNAL, PROBLEMS, problemType } from './problem.ts'
import type { AnyRouteSpec } from './route.ts'

export type OpenApiDocument = oas31.OpenAPIObject

const PROBLEM = '#/components/schemas/Problem'
const REQUEST_ID_HEADER = { $ref: '#/components/headers/X-Request-Id' }

/**
 * Describes routes as an OpenAPI 3.1 document, from the very schemas that check requests and answers.
 *
 * @param version Wharf's own.
 */
export function createOpenApiDocument(routes: readonly AnyRouteSpec[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: describeRoute(route) }
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Wharf',
      version,
      description:
        'Exact exports, imports and transfers of PostgreSQL projects. Errors are RFC 9457 problem documents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of this server.' } },
      headers: {
        'X-Request-Id': {
          description:
            "The request's name in logs and problem documents: the client's own, if well formed, or a new one.",
          required: true,
          schema: { type: 'string' },
        },
      },
    },
  })
}

function describeRoute(route: AnyRouteSpec): ZodOpenApiOperationObject {
  const answers = Object.entries(route.answers).map(
    ([status, answer]) => [status, describeAnswer(answer, commonHeaders(route))] as const,
  )
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: [route.description, describeAccess(route.access)].filter((text) => text !== undefined).join(' '),
    'x-wharf-access': route.access,
    tags: [route.tag],
    security: SECURITY[authOf(route.access)],
    requestParams: {
      ...(route.params && { path: route.params }),
      ...(route.query && { query: route.query }),
      ...(route.headers && { header: route.headers }),
      ...(route.dialect && { query: route.dialect.query, header: route.dialect.headers }),
    },
    ...(route.body && { requestBody: describeBody(route.body) }),
    responses: Object.fromEntries([...describeFailures(route), ...answers]),
  }
}

/** What each answer of a route has, a refusal too. */
const commonHeaders = ({ protocol }: AnyRouteSpec): oas31.HeadersObject => {
  const own = Object.entries(protocol?.always ?? {}).map(
    ([name, value]) => [name, { description: `Always \`${value}\`.`, schema: { type: 'string' } }] as const,
  )
  return { 'X-Request-Id': REQUEST_ID_HEADER, ...Object.fromEntries(own) }
}

const SECURITY = { token: [{ token: [] }], optional: [{ token: [] }, {}], none: [] }

function describeBody(body: BodySpec) {
  if (body.kind === 'json') return { required: true, content: { [body.mediaType]: { schema: body.schema } } }
  const types = [body.mediaType, ...(body.kind === 'raw' ? (body.otherTypes ?? []) : [])]
  const content = Object.fromEntries(types.map((type) => [type, { schema: BYTES }]))
  return { required: body.kind !== 'raw' || body.isOptional !== true, description: body.description, content }
}

const BYTES: oas31.SchemaObject = { type: 'string' }

function describeAnswer(answer: AnswerSpec, common: oas31.HeadersObject): ZodOpenApiResponseObject {
  const headers = { ...common }
  for (const [name, description] of Object.entries(answer.headers ?? {})) {
    headers[name] = { description, schema: { type: 'string' } }
  }
  if (answer.kind === 'empty') return { description: answer.description, headers }
  const schema = 'schema' in answer ? (answer.schema ?? BYTES) : BYTES
  const types = mediaTypesOf(answer)
  const content = types.map((type) => [type, { schema: type.endsWith('json') || types.length === 1 ? schema : BYTES }])
  return { description: answer.description, headers, content: Object.fromEntries(content) }
}

interface Failure {
  readonly type: string
  readonly status: number
  readonly title: string
}

const INTERNAL: Failure = { type: PROBLEM_TYPE_INTERNAL, status: 500, title: 'Internal error' }

/** Where an error may say when it is worth trying again. */
const RETRYABLE = new Set([408, 409, 429, 502, 503])

/** What a call can meet that asks the database for anything (`sqlstate-meanings.ts`). */
const ASKING_THE_DATABASE = [
  'UNAUTHENTICATED',
  'CONFLICT',
  'DATABASE_UNAVAILABLE',
  'PROJECT_BUSY',
  'DATABASE_READ_ONLY',
  'DATABASE_FAULTY',
  'STORAGE_FULL',
  'QUERY_TIMED_OUT',
] as const satisfies readonly ErrorCode[]

/** The failures that follow from who may make a call. */
const IMPLIED_BY_ACCESS: Readonly<Record<Access['by'], readonly ErrorCode[]>> = {
  anyone: [],
  token: [],
  root: ['FORBIDDEN'],
  member: ['NOT_FOUND'],
  permission: ['FORBIDDEN', 'NOT_FOUND'],
  visitor: ['FORBIDDEN', 'NOT_FOUND'],
  somewhere: ['FORBIDDEN'],
  sender: ['NOT_FOUND'],
  request: ['FORBIDDEN', 'NOT_FOUND'],
  viewer: ['NOT_FOUND'],
  asker: ['NOT_FOUND'],
  author: ['FORBIDDEN', 'NOT_FOUND'],
}

/** The failures that the frame answers with by itself. */
function impliedErrors({ access, body, answers }: AnyRouteSpec): ErrorCode[] {
  return [
    'INVALID_REQUEST',
    'TOO_MANY_REQUESTS',
    'SHUTTING_DOWN',
    ...IMPLIED_BY_ACCESS[access.by],
    ...(authOf(access) !== 'none' ? ASKING_THE_DATABASE : []),
    ...(body ? (['UNSUPPORTED_MEDIA_TYPE', 'REQUEST_TIMEOUT'] as const) : []),
    ...(body && body.kind !== 'stream' ? (['BODY_TOO_LARGE'] as const) : []),
    ...(answerTypes(answers).length > 0 ? (['NOT_ACCEPTABLE'] as const) : []),
  ]
}

function describeFailures(route: AnyRouteSpec): [string, ZodOpenApiResponseObject][] {
  const codes = new Set([...impliedErrors(route), ...(route.errors ?? [])])
  const isRaised = codes.delete('RAISED')
  const failures = [INTERNAL, ...[...codes].map((code) => ({ ...PROBLEMS[code], type: problemType(code) }))]
  const common = commonHeaders(route)
  const statuses = [...new Set(failures.map(({ status }) => status))]
  const described = statuses.map((status): [string, ZodOpenApiResponseObject] => {
    const own = failures.filter((failure) => failure.status === status)
    return [String(status), describeFailure(status, isRaised && isOfClient(status) ? [...own, RAISED] : own, common)]
  })
  return isRaised ? [...described, ['4XX', describeFailure(RAISED.status, [RAISED], common)]] : described
}

/** What a function of a project raises has any status that blames the client. */
const RAISED: Failure = { ...PROBLEMS.RAISED, type: problemType('RAISED') }

const isOfClient = (status: number): boolean => status >= 400 && status < 500

function describeFailure(
  status: number,
  failures: readonly Failure[],
  common: oas31.HeadersObject,
): ZodOpenApiResponseObject {
  const types = { type: 'object', properties: { type: { enum: failures.map(({ type }) => type) } } } as const
  const headers = { ...common }
  if (status === 401) headers['WWW-Authenticate'] = { description: 'Always `Bearer`.', schema: { type: 'string' } }
  if (status === 416) {
    headers['Content-Range'] = { description: 'How many there are: `bytes */4711`.', schema: { type: 'string' } }
  }
  if (RETRYABLE.has(status)) {
    headers['Retry-After'] = {
      description: 'Seconds to wait before trying again.',
      schema: { type: 'integer' },
    }
  }
  return {
    description: failures.map(({ title }) => title).join(', or '),
    headers,
    content: { 'application/problem+json': { schema: { allOf: [{ $ref: PROBLEM }, types] } } },
  }
}
