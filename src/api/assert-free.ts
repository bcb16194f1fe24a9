import { once } from 'node:events'
import { createServer } from 'node:net'
import { AppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'

/** Where a process is to listen. */
export interface ApiAddress {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

/**
 * Makes sure that a process can listen where it is to, before it starts anything else.
 *
 * @param variable the one that sets the port.
 * @throws {AppError} CONFIG_INVALID where it can't.
 */
export async function assertFree(address: ApiAddress, variable: string): Promise<void> {
  const server = createServer()
  try {
    server.listen(address.port, address.host)
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(error, address, variable)
  }
  server.close()
  await once(server, 'close')
}

/** What the system's refusal to listen means to who starts the service. */
export const cannotListen = (cause: unknown, { host, port }: ApiAddress, variable: string): AppError =>
  new AppError('CONFIG_INVALID', `cannot listen on ${host}:${port}: ${advice(cause, variable)}`, { cause })

function advice(error: unknown, variable: string): string {
  const code = errorCode(error)
  if (code === 'EADDRINUSE') return `another program listens there; stop it, or set ${variable} to another port`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'this machine has no such address; set WHARF_HOST'
  if (code === 'EACCES') return `ports below 1024 need more rights; set ${variable}`
  return error instanceof Error ? error.message : String(error)
}
