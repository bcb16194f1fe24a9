import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { z } from 'zod'

const SERVER = fileURLToPath(new URL('./bare-server.mjs', import.meta.url))

/** What Node adds by itself. */
const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive'])

/**
 * Starts a bare Express handler, in a process of its own, that answers with the very bytes that `url` answers with now.
 *
 * @returns where it is: the same path on another port.
 */
export async function startBareHandler(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly status: number; stop(): Promise<void> }> {
  const answer = await request(url, { headers: { ...headers } })
  const body = Buffer.from(await answer.body.arrayBuffer())
  const kept = Object.entries(answer.headers).filter(([name]) => !OWN_HEADERS.has(name))
  const child = fork(SERVER)
  const exited = once(child, 'exit')
  const messaged = once(child, 'message')
  child.send({ status: answer.statusCode, headers: Object.fromEntries(kept), body: body.toString('base64') })
  const [message] = await messaged
  const bare = new URL(url)
  bare.port = String(z.object({ port: z.number() }).parse(message).port)
  return {
    url: bare.href,
    status: answer.statusCode,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
