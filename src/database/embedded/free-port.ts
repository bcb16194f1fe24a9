import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '../../lib/error-code.ts'

/** @returns a port of 127.0.0.1 on which nobody listens at the moment. */
export const findFreePort = (): Promise<number> => listenBriefly(0)

/** Whether somebody listens on this port of 127.0.0.1. */
export async function isPortTaken(port: number): Promise<boolean> {
  try {
    await listenBriefly(port)
    return false
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') return true
    throw error
  }
}

/** @param port 0 lets the system choose one. @returns the port. */
async function listenBriefly(port: number): Promise<number> {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port')
  return address.port
}
