import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { packageFile } from './package-file.ts'

/** Wharf's own version. */
export function readVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version
}
