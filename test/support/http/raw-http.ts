import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  /** 0 where the connection ended without an answer. */
  readonly status: number
  /** Everything that came, as Latin-1. */
  readonly text: string
}

const TIMEOUT_MS = 20_000

/** Opens a connection to a server. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/**
 * Sends bytes as they are, which no HTTP client would, and reads until the server ends the connection.
 *
 * @param end whether to end our side once all is sent.
 * @throws {Error} where the server keeps the connection open.
 */
export async function sendRaw(
  url: string,
  request: string | Buffer,
  { end = false }: { readonly end?: boolean } = {},
): Promise<RawAnswer> {
  const socket = await openSocket(url)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server keeps the connection open')), TIMEOUT_MS)
    const settle = (): void => {
      clearTimeout(timer)
      resolve()
    }
    socket.once('end', settle).once('close', settle)
  })
  socket.write(typeof request === 'string' ? Buffer.from(request, 'latin1') : request)
  if (end) socket.end()
  try {
    await closed
  } finally {
    socket.destroy()
  }
  const text = Buffer.concat(chunks).toString('latin1')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text }
}
