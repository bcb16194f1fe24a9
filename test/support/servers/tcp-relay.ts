import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpRelay {
  /** The URL that was given, by way of the relay. */
  readonly url: string
  /** Leaves all connections open, and takes new ones, but lets nothing through any more, not even their end. */
  silence(): void
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>
  /** Lets connections through again. */
  mend(): Promise<void>
}

/** Sees what goes through one connection. */
export interface Tap {
  /** What the client sends. @returns whether it may go on. */
  asks(chunk: Buffer): boolean
  /** What the server sends. @returns whether it may go on. */
  answers(chunk: Buffer): boolean
}

const LET_THROUGH: Tap = { asks: () => true, answers: () => true }

/**
 * Stands between a client and a server, as a network that can fail.
 *
 * @param url of the server; a function where that is started anew meanwhile, and is elsewhere then.
 * @param openTap called for each connection, with what breaks it, and what ends it so that all that has come by then arrives: at
 *   the client, or at the server.
 */
export async function startTcpRelay(
  url: string | (() => string),
  openTap: (breakOff: () => void, end: () => void, endAtServer: () => void) => Tap = () => LET_THROUGH,
): Promise<TcpRelay> {
  const urlOf = typeof url === 'string' ? () => url : url
  const sockets = new Set<Socket>()
  let isSilent = false
  const join = (from: Socket, to: Socket, mayPass: (chunk: Buffer) => boolean): void => {
    sockets.add(from)
    from.on('data', (chunk) => {
      if (mayPass(chunk) && !isSilent) to.write(chunk)
    })
    from.on('error', () => isSilent || to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      if (!isSilent) to.destroy()
    })
  }
  const server = createServer((client) => {
    const target = new URL(urlOf())
    const upstream = connect(Number(target.port), target.hostname)
    const tap = openTap(
      () => {
        client.resetAndDestroy()
        upstream.resetAndDestroy()
      },
      () => {
        client.end()
        upstream.removeAllListeners('close').resetAndDestroy()
      },
      () => upstream.end(() => client.resetAndDestroy()),
    )
    join(client, upstream, tap.asks)
    join(upstream, client, tap.answers)
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const port = await listen(0)
  const relayed = new URL(urlOf())
  relayed.host = `127.0.0.1:${port}`
  return {
    url: relayed.href,
    silence() {
      isSilent = true
    },
    async cut() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.resetAndDestroy()
      await closed
    },
    async mend() {
      await listen(port)
    },
  }
}
