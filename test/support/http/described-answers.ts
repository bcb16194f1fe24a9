import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { z } from 'zod'

/** What is compared with its description. */
export interface Answer {
  readonly status: number
  /** By lower-case name; values of a name that comes twice are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** The parsed body of a JSON answer, else undefined. Typed loosely, as tests look into it with matchers. */
  readonly json: unknown
}

const headerSchema = z.looseObject({ $ref: z.string().optional(), required: z.boolean().optional() })
const answerSchema = z.object({
  headers: z.record(z.string(), headerSchema).default({}),
  content: z.record(z.string(), z.unknown()).optional(),
})
const operationSchema = z.object({ responses: z.record(z.string(), answerSchema) })
const documentSchema = z.looseObject({
  openapi: z.literal('3.1.1'),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
})

type Operation = z.infer<typeof operationSchema>

/** A path of the document, and what can be done there, by the method in lower case. */
interface DescribedPath {
  readonly path: string
  readonly pattern: RegExp
  readonly operations: Readonly<Record<string, Operation>>
}

/** How `/openapi.json` describes the answers of a server. */
export interface Description {
  /** Those with the fewest parameters first. */
  readonly paths: readonly DescribedPath[]
  /** Compiles the schema at a place in the document. */
  readonly validator: (...keys: string[]) => ValidateFunction
}

/** @param openApi the parsed document. */
export function describeAnswers(openApi: unknown): Description {
  const document = documentSchema.parse(openApi)
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'wharf')
  const validators = new Map<string, ValidateFunction>()
  const validator = (...keys: string[]): ValidateFunction => {
    const pointer = keys
      .map((key) => `/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
      .join('')
    const known = validators.get(pointer)
    if (known) return known
    const $ref = `wharf#${pointer}`
    const validate = ajv.getSchema($ref) ?? ajv.compile({ $ref })
    validators.set(pointer, validate)
    return validate
  }
  return { paths: describedPaths(document.paths), validator }
}

/** Read once: every answer of every test is compared with one of them. */
function describedPaths(paths: z.infer<typeof documentSchema>['paths']): readonly DescribedPath[] {
  const described = Object.entries(paths).map(([path, item]) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    operations: z.record(z.string(), operationSchema).parse(item),
  }))
  return described.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)
}

/** Headers that belong to HTTP itself, or to every answer alike, and need no description of their own. */
const COMMON_HEADERS = new Set([
  'allow',
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'referrer-policy',
  'transfer-encoding',
  'x-content-type-options',
])

/** `OPTIONS` is not described. It may say of a path what there is to those alone who may know. */
const OF_OPTIONS: readonly number[] = [200, 204, 401, 403, 404]

/** In what an answer differs from its description; empty where it is as described. */
export function* differences(
  description: Description,
  method: string,
  pathname: string,
  answer: Answer,
): Generator<string> {
  if (!answer.headers['x-request-id']) yield 'it has no X-Request-Id'
  const found = description.paths.find(({ pattern }) => pattern.test(pathname))
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = found?.operations[verb]
  if (!found || !operation) {
    const expected = found ? (method === 'OPTIONS' ? OF_OPTIONS : [405]) : [404, 400]
    if (!expected.includes(answer.status)) yield 'there is no such call'
    if (answer.status >= 400) yield* bodyFaults(description.validator('components', 'schemas', 'Problem'), answer.json)
    return
  }
  const statuses = [String(answer.status), `${Math.floor(answer.status / 100)}XX`]
  const status = statuses.find((each) => each in operation.responses) ?? ''
  const described = operation.responses[status]
  if (!described) return yield 'this status is not described'
  yield* unknownHeaders(described, answer)
  const mediaType = answer.headers['content-type']?.split(';')[0]
  if (described.content === undefined) {
    if (answer.bytes.length > 0) yield 'its body is not described'
    return
  }
  if (mediaType === undefined && answer.headers['content-length'] === '0') return
  if (mediaType !== undefined && !(mediaType in described.content) && '*/*' in described.content) return
  if (mediaType === undefined || !(mediaType in described.content)) return yield `${mediaType} is not described`
  if (method === 'HEAD' || answer.json === undefined) return
  const pointer = ['paths', found.path, verb, 'responses', status, 'content', mediaType, 'schema']
  yield* bodyFaults(description.validator(...pointer), answer.json)
  if (mediaType === 'application/problem+json') yield* problemFaults(answer)
}

function* unknownHeaders(described: z.infer<typeof answerSchema>, { headers }: Answer): Generator<string> {
  const known = new Set(Object.keys(described.headers).map((name) => name.toLowerCase()))
  for (const name of Object.keys(headers)) {
    if (!known.has(name) && !COMMON_HEADERS.has(name)) yield `the header ${name} is not described`
  }
}

function* bodyFaults(validate: ValidateFunction, value: unknown): Generator<string> {
  if (validate(value)) return
  for (const { instancePath, message } of validate.errors ?? [])
    yield `its body is wrong at "${instancePath}": ${message}`
}

function* problemFaults({ status, headers, json }: Answer): Generator<string> {
  const problem = z.looseObject({ status: z.number(), instance: z.string() }).parse(json)
  if (problem.status !== status) yield `its problem document says ${problem.status}`
  if (problem.instance !== `urn:wharf:request:${headers['x-request-id']}`) yield `it names another request`
}
