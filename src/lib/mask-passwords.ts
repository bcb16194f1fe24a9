export const MASK = '***'

/** To the last "@" of the word: a password in it may have been written without its "@" and "/" being encoded. */
const IN_ADDRESS = /\b(postgres(?:ql)?:\/\/[^\s:@/]*):\S*@/gi

/** As a parameter of an address, in a connection string of `name=value`, and as a variable. */
const AS_VALUE = /\b((?:PG|ssl)?password)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'"]+)/gi

/** A private key, whole or cut off. */
const PRIVATE_KEY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g

/** Hides the passwords, and private keys, in a text that has addresses of databases, in whatever form `psql` takes them. */
export function maskPasswords(text: string): string {
  return text.replace(IN_ADDRESS, `$1:${MASK}@`).replace(AS_VALUE, `$1$2${MASK}`).replace(PRIVATE_KEY, `$1${MASK}$2`)
}
