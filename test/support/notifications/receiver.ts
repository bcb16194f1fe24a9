import { serveHttp, type TestServer } from '../http/serve-http.ts'

/** A receiver that answers each request with one of the statuses (204 without any), and with the last one from then on. */
export function startReceiver(...statuses: readonly number[]): Promise<TestServer> {
  let answered = 0
  return serveHttp((_, response) => {
    response.statusCode = statuses[Math.min(answered, statuses.length - 1)] ?? 204
    answered += 1
    if (response.statusCode === 302) response.setHeader('location', '/elsewhere')
    response.end()
  })
}
