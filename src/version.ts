import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** Wharf's own version. `package.json` is at the same place seen from `src/` and from `dist/`. */
export function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version
}
