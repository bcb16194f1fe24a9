import createFetch, { type ParamsOption } from 'openapi-fetch'
import type {
  FilterKeys,
  HttpMethod,
  IsOperationRequestBodyOptional,
  MediaType,
  OperationRequestBodyContent,
  PathsWithMethod,
  RequiredKeysOf,
  ResponseObjectMap,
  SuccessResponse,
} from 'openapi-typescript-helpers'
import type { Connection } from './connection.ts'
import type { paths } from './generated/api.ts'

/** What has bytes for a body: `exportArchive`, `importArchive`, `upload`, `download` and `waitFor` are for these. */
type Streamed = '/export' | '/import' | '/jobs/{id}/file' | '/jobs/events' | '/jobs/{id}/events'

type PathOf<Method extends HttpMethod> = Exclude<PathsWithMethod<paths, Method>, Streamed>

type Operation<Path extends keyof paths, Method extends HttpMethod> = FilterKeys<paths[Path], Method>

type Body<O> = [OperationRequestBodyContent<O>] extends [never]
  ? { readonly body?: never }
  : IsOperationRequestBodyOptional<O> extends true
    ? { readonly body?: OperationRequestBodyContent<O> }
    : { readonly body: OperationRequestBodyContent<O> }

/** Path, query and headers as `params`, and the body as `body`. */
type Given<O> = ParamsOption<O> &
  Body<O> & {
    /** Those that `params` does not know. */
    readonly headers?: Readonly<Record<string, string>>
    readonly signal?: AbortSignal
  }

/** What a call answers with; undefined where the answer has no body. */
type AnswerOf<O> = O extends Record<string | number, unknown> ? SuccessResponse<ResponseObjectMap<O>, MediaType> : never

type Rest<Options> = RequiredKeysOf<Options> extends never ? [given?: Options] : [given: Options]

/** @throws {WharfError} what the service refused, or that it did not answer. */
type Call<Method extends HttpMethod> = <Path extends PathOf<Method>>(
  path: Path,
  ...rest: Rest<Given<Operation<Path, Method>>>
) => Promise<AnswerOf<Operation<Path, Method>>>

/** The calls of `/openapi.json`, by method and path: `wharf.get('/projects/{slug}', { params: { path: { slug } } })`. */
export interface Calls {
  readonly get: Call<'get'>
  readonly post: Call<'post'>
  readonly put: Call<'put'>
  readonly patch: Call<'patch'>
  readonly delete: Call<'delete'>
}

/** As openapi-fetch has it, before types: which of the calls it is, they say. */
type Untyped = (
  method: string,
  path: string,
  options: object,
) => Promise<{ readonly data?: unknown; readonly response: Response }>

export function createCalls({ url, fetch }: Connection): Calls {
  const client = createFetch<paths>({
    baseUrl: url,
    fetch,
    // No call takes a text as JSON: a text is SQL.
    bodySerializer: (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body)),
  })
  const request = client.request as unknown as Untyped
  const call = async (method: HttpMethod, path: string, given?: object): Promise<unknown> => {
    const { response } = await request(method, path, { ...given, parseAs: 'stream' })
    if (response.status === 204) return undefined
    const isJson = /^application\/([\w.+-]+\+)?json/.test(response.headers.get('content-type') ?? '')
    return isJson ? response.json() : response.text()
  }
  const of = (method: HttpMethod) => (path: string, given?: object) => call(method, path, given)
  const calls = { get: of('get'), post: of('post'), put: of('put'), patch: of('patch'), delete: of('delete') }
  return calls as unknown as Calls
}
