import { type ConnectOpts, type LookupFunction, Socket, type SocketConstructorOpts } from 'node:net'

/** How many bytes are read at a time, at most. */
const READ_BYTES = 64 * 1024

/** Gets bytes that stay as they are until it returns. */
export type ByteTaker = (bytes: Buffer) => void

/**
 * A socket that reads into the same memory again and again. Of memory that is new for each read, V8 believes that its own
 * heap grows, and looks through all of that again and again: a fifth of the processor time of an export
 * (`npm run bench -- database`).
 *
 * @see https://nodejs.org/docs/latest-v20.x/api/net.html#socketconnectoptions-connectlistener, `onread`
 */
export class DatabaseSocket extends Socket {
  #taker: ByteTaker | undefined

  constructor() {
    const options: SocketConstructorOpts & ConnectOpts = {
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (count, { buffer, byteOffset }) => {
          const bytes = Buffer.from(buffer, byteOffset, count)
          if (this.#taker) this.#taker(bytes)
          else this.emit('data', Buffer.from(bytes))
          return true
        },
      },
    }
    super(options)
  }

  /** Has bytes taken as they come, instead of emitting copies of them. @param taker undefined ends that. */
  lendBytes(taker: ByteTaker | undefined): void {
    this.#taker = taker
  }
}

/** What `pg` says of the connection that it makes. */
interface PgConnection {
  readonly ssl?: unknown
}

/**
 * What makes the sockets that `pg` connects.
 *
 * @param lookup finds the addresses of a host's name; the system does where it is undefined.
 */
export const socketMaker =
  (lookup: LookupFunction | undefined) =>
  (connection?: PgConnection): Socket => {
    // TLS reads from the socket by itself.
    const socket = connection?.ssl ? new Socket() : new DatabaseSocket()
    if (!lookup) return socket
    const connect = socket.connect.bind(socket)
    return Object.assign(socket, { connect: (port: number, host: string) => connect({ port, host, lookup }) })
  }
