import type { CallReader } from './failing-relay.ts'

/** The version of the protocol, by which the message that opens a session is told from others without a type. */
const PROTOCOL_3 = 196_608

/** Query, Execute, CopyData, CopyDone: what makes the server do something. */
const CALLS: ReadonlySet<string> = new Set(['Q', 'E', 'd', 'c'])

/**
 * Finds the calls in what a client of PostgreSQL sends: the opening of a session is one, too.
 *
 * @param counts whether sessions of this `application_name` matter.
 * @param only how the queries begin that count, where not everything does.
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export function readPostgresCalls(counts: (applicationName: string) => boolean, only?: string): CallReader {
  const isCall = (message: Buffer): boolean =>
    only === undefined
      ? CALLS.has(String.fromCharCode(message.readUInt8(0)))
      : message.toString('latin1', 0, 1) === 'Q' && message.toString('latin1', 5).startsWith(only)
  let held: Buffer = Buffer.alloc(0)
  let matters: boolean | undefined
  return (chunk) => {
    let calls = 0
    held = Buffer.concat([held, chunk])
    for (;;) {
      const typeBytes = matters === undefined ? 0 : 1
      if (held.length < typeBytes + 4) return calls
      const end = typeBytes + held.readInt32BE(typeBytes)
      if (held.length < end) return calls
      const message = held.subarray(0, end)
      held = held.subarray(end)
      if (matters !== undefined) {
        if (matters && isCall(message)) calls += 1
      } else if (message.readInt32BE(4) === PROTOCOL_3) {
        matters = counts(/application_name\0([^\0]*)/.exec(message.toString('latin1'))?.[1] ?? '')
        if (matters && only === undefined) calls += 1
      }
    }
  }
}
