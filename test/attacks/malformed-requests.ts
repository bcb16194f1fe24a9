import { z } from 'zod'
import { ENCODED, HEADER_VALUES, RAW } from './malformed-values.ts'

/** A request that is sent byte by byte as it stands here. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  /** They take the place of those that every request has. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const ID = '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11'
const SHIP = '/content/ships/live/ship'

const parameterSchema = z.object({ name: z.string(), in: z.enum(['path', 'query', 'header']) })
const operationSchema = z.looseObject({
  parameters: z.array(parameterSchema).default([]),
  requestBody: z.object({ content: z.record(z.string(), z.unknown()) }).optional(),
})
const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), operationSchema)) })

interface Operation extends z.infer<typeof operationSchema> {
  readonly method: string
  readonly path: string
}

function operationsOf(openApi: unknown): readonly Operation[] {
  const { paths } = documentSchema.parse(openApi)
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** What stands in a path where something else than its parameter is malformed. */
const GOOD: Readonly<Record<string, string>> = {
  ...{ slug: 'ships', project: 'ships', stage: 'live', table: 'ship', name: 'viewer', id: ID },
}

/** A path with good parameters; but one, where that is given. */
const fill = (path: string, name = '', value = ''): string =>
  path.replace(/\{(\w+)\}/g, (_, parameter: string) => (parameter === name ? value : (GOOD[parameter] ?? 'x')))

const BODIES: Readonly<Record<string, string>> = {
  'application/json': '{}',
  'application/sql': 'SELECT 1',
  'application/x-ndjson': '{"archive":{"version":1}}\n',
}

function bodyOf({ requestBody }: Operation): Pick<RawRequest, 'headers' | 'body'> {
  const type = Object.keys(requestBody?.content ?? {})[0]
  return type === undefined ? {} : { headers: { 'content-type': type }, body: BODIES[type] ?? '{}' }
}

type Location = (value: string) => RawRequest

/** Has an answer without an end where nothing is wrong; its query is that of `GET /jobs`. */
const ENDLESS = '/jobs/events'

/** Every parameter of every path, and of every query that is described. */
function describedLocations(operations: readonly Operation[]): readonly Location[] {
  const ending = operations.filter(({ path }) => path !== ENDLESS)
  return ending.flatMap((operation) => {
    const { method, path, parameters } = operation
    const at = (target: Location): Location[] => [(value) => ({ ...target(value), ...bodyOf(operation) })]
    return parameters.flatMap(({ name, in: where }) => {
      if (where === 'path') return at((value) => ({ method, target: fill(path, name, value) }))
      if (where === 'query') return at((value) => ({ method, target: `${fill(path)}?${name}=${value}` }))
      return []
    })
  })
}

/** Filters and the like, which have a language of their own, names of parameters, and what is no path at all. */
const OWN_LOCATIONS: readonly Location[] = [
  ...['eq', 'neq', 'gt', 'like', 'ilike', 'match', 'is', 'fts', 'cs', 'isdistinct'].map(
    (operator) => `name=${operator}.$`,
  ),
  ...[
    'id=eq.$',
    'id=in.($)',
    'name=in.("$")',
    'name=like(any).{$}',
    'name=$.a',
    'name=not.$',
    'id=$',
    'port.name=eq.$',
  ],
  ...['$=eq.1', 'or=($)', 'or=(name.eq.$)', 'not.and=(id.eq.$,id.gt.1)', 'select=$', 'select=$:name', 'select=id::$'],
  ...['select=port($)', 'select=$(name)', 'select=name->>$', 'select=id.$()', 'order=$', 'order=id.$', 'limit=$'],
  ...['port.limit=$&select=id,port(id)', 'offset=$', '$', '&$=', 'id=eq.1&id=$'],
].map((query) => (value: string) => ({ method: 'GET', target: `${SHIP}?${query.replace('$', () => value)}` }))

const FURTHER_LOCATIONS: readonly Location[] = [
  (value) => ({ method: 'GET', target: `/${value}` }),
  (value) => ({ method: 'GET', target: `/content/${value}/${value}/${value}`, headers: { authorization: '' } }),
  (value) => ({ method: 'GET', target: `/jobs?${value}=1` }),
  (value) => ({ method: 'GET', target: `/healthz?${value}=${value}` }),
  (value) => ({ method: 'DELETE', target: `${SHIP}?name=eq.none${value}` }),
  (value) => ({ method: 'GET', target: `http://${value}/healthz` }),
]

/** Where a header is read, each of them. */
const HEADER_LOCATIONS: readonly (RawRequest & { readonly names: readonly string[] })[] = [
  {
    ...{ method: 'GET', target: `${SHIP}?limit=1` },
    names: [
      ...['authorization', 'x-service-ref', 'if-none-match', 'prefer', 'accept', 'accept-encoding', 'range', 'host'],
      ...['x-request-id', 'expect', 'upgrade', 'cookie', 'x-forwarded-for', 'forwarded', 'wharf-challenge'],
    ],
  },
  { ...{ method: 'GET', target: `/jobs/${ID}/file` }, names: ['range', 'if-range', 'if-none-match', 'authorization'] },
  {
    ...{ method: 'POST', target: '/export', body: '{"projects":[{"slug":"ships"}]}' },
    ...{ headers: { 'content-type': 'application/json', prefer: 'respond-async' } },
    names: ['idempotency-key', 'prefer', 'content-type', 'accept', 'accept-encoding', 'content-encoding'],
  },
  {
    ...{ method: 'POST', target: '/import?dryRun=true', body: '{"archive":{"version":1}}\n' },
    ...{ headers: { 'content-type': 'application/x-ndjson' } },
    names: ['content-type', 'content-encoding', 'prefer', 'idempotency-key'],
  },
  {
    ...{ method: 'POST', target: SHIP, body: '{"id":null}', headers: { 'content-type': 'application/json' } },
    names: ['content-type', 'content-encoding', 'prefer', 'accept'],
  },
]

/**
 * Of how many values one is put into a place where not all of them are: another one in each place. Fewer than there are
 * places, so that each value comes up.
 */
const SAMPLE = { paths: 100, headers: 50 }

/** Which stand in every sixth place all the same, since they have broken most. */
const OFTEN: readonly string[] = ['%00', '%ff', '%', '%ed%a0%80', '%5c', '\0', '\xff']

/**
 * Requests with malformed values in each place: every parameter of every path and query of `/openapi.json`, the
 * language of filters, names of parameters, values and names of headers, and the method.
 *
 * @param every whether each value stands in each place; else each stands in some, and each place has some.
 */
export function* malformedRequests(openApi: unknown, every: boolean): Generator<RawRequest> {
  let location = 0
  const chosen = (values: readonly string[], sample: number): readonly string[] => {
    location += 1
    return values.filter(
      (value, index) => every || (index + location) % sample === 0 || (location % 6 === 0 && OFTEN.includes(value)),
    )
  }
  for (const toRequest of [...describedLocations(operationsOf(openApi)), ...OWN_LOCATIONS, ...FURTHER_LOCATIONS]) {
    for (const value of chosen([...ENCODED, ...RAW], SAMPLE.paths)) yield toRequest(value)
  }
  for (const { names, ...request } of HEADER_LOCATIONS) {
    for (const name of names) {
      for (const value of chosen(HEADER_VALUES, SAMPLE.headers))
        yield { ...request, headers: { ...request.headers, [name]: value } }
    }
  }
  for (const value of RAW) {
    yield { method: 'GET', target: SHIP, headers: { [`x${value}y`]: '1' } }
    yield { method: `GET${value}`, target: SHIP }
  }
}
