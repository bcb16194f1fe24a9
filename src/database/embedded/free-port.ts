import { once } from 'node:events'
import { createServer } from 'node:net'
import { errorCode } from '../../lib/error-code.ts'

const HOST = '127.0.0.1'

/** @returns a port of 127.0.0.1 on which nobody listens at the moment. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port')
  return address.port
}

/** Whether somebody listens on this port of 127.0.0.1. */
export async function isPortTaken(port: number): Promise<boolean> {
  const server = createServer().listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') return true
    throw error
  }
  server.close()
  await once(server, 'close')
  return false
}
