import { readText } from '../lib/read-text.ts'
import type { CommandContext } from './environment.ts'

const MAX_BYTES = 8_192

/** A URL that is a secret: "-" reads it from standard input, which keeps it out of the shell's history. */
export const readSecretUrl = async (
  { environment: { stdin } }: CommandContext,
  given: string | undefined,
): Promise<string | undefined> => (given === '-' ? (await readText(stdin, MAX_BYTES)).trim() : given)
