import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestServer {
  readonly port: number
  readonly url: string
  readonly requests: readonly ReceivedRequest[]
}

/** Serves HTTP until the test ends, and keeps what was asked for. */
export async function serveHttp(answer: RequestListener): Promise<TestServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request
    requests.push({ method, path, headers, body: await text(request) })
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address() as AddressInfo
  return { port: address.port, url: `http://127.0.0.1:${address.port}`, requests }
}
