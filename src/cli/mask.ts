import { MASK, maskPasswords } from '../lib/mask-passwords.ts'

/** Not where the form of a DSN is explained. */
const DSN_CREDENTIALS = /\b(wharf(?:\+https?)?:\/\/[^\s:@/'"]*):(?!<TOKEN>)[^\s'"]*@/gi

/**
 * Also where a token was typed in the wrong place: they all begin alike. So do names of schemas of Wharf's own in databases
 * that are not, and those of projects' logins and databases, all of which are shorter than a token.
 */
const ISSUED_TOKEN = /\bwharf_(?!(?:(?:new|old|direct)_[0-9a-f]{16}|[0-9a-f]{32})(?![A-Za-z0-9_-]))[A-Za-z0-9_-]{20,}/g

/**
 * Hides the secrets in a text that is about to be shown: tokens of DSNs, whatever looks like one of Wharf's, and
 * passwords of databases.
 */
export function maskSecrets(text: string): string {
  return maskPasswords(text).replace(DSN_CREDENTIALS, `$1:${MASK}@`).replace(ISSUED_TOKEN, `wharf_${MASK}`)
}
