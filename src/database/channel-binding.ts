import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'

/** What `pg` reads from a server, as events. */
export type ServerMessages = EventEmitter & { readonly stream: Duplex }

const BOUND = 'SCRAM-SHA-256-PLUS'

/** How else a server may ask who somebody is. */
const UNBOUND = ['authenticationCleartextPassword', 'authenticationMD5Password'] as const

/** The server cannot prove that nobody stands between it and its client. */
export class ChannelNotBound extends Error {
  override readonly name = 'ChannelNotBound'

  constructor() {
    super('the server does not authenticate with channel binding, which the address requires')
  }
}

/**
 * Breaks a connection off whose server does not authenticate by SCRAM with channel binding, before it gets anything of
 * the password: `pg` would use it where it is offered, and do without it elsewhere.
 */
export function demandChannelBinding(connection: ServerMessages): void {
  let isBound = false
  const refuse = (): void => {
    connection.stream.destroy()
    // Said here and now: what the server has sent may end the beginning of the session before the stream says so.
    connection.emit('error', new ChannelNotBound())
  }
  for (const event of UNBOUND) connection.on(event, refuse)
  connection.on('authenticationSASL', ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
    if (!mechanisms.includes(BOUND)) refuse()
  })
  // By then `pg` has checked what the server has signed; where it has not, the connection has failed.
  connection.on('authenticationSASLFinal', () => {
    isBound = true
  })
  connection.on('authenticationOk', () => {
    if (!isBound) refuse()
  })
}
