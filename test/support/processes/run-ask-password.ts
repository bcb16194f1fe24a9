/**
 * Connects to a database, asks for its password where the server wants one, and prints whom it is connected as.
 *
 * Usage: run-ask-password <address>
 */
import { createInterrupts } from '../../../src/cli/interrupts.ts'
import { askPassword } from '../../../src/cli/terminal/ask-password.ts'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { reachServer } from '../../../src/database/address/reach-server.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import { createLogger } from '../../../src/logger.ts'

const [address = ''] = process.argv.slice(2)
const interrupts = createInterrupts(process)
interrupts.listen()
try {
  const server = await reachServer(await resolveAddress(parsePostgresAddress(address)), {
    applicationName: 'test',
    logger: createLogger('silent'),
    askPassword: (name) => askPassword({ environment: process, signal: interrupts.signal }, name),
  })
  console.log(`connected as ${server.user}`)
} catch (error) {
  console.log(interrupts.signal.aborted ? 'interrupted' : String(error))
} finally {
  interrupts.stop()
}
