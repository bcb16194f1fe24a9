export const MASK = '***'

/** What comes before the "@" of an address; with a single "/" where the address was taken for the path of a file. */
const IN_ADDRESS = /\b(postgres(?:ql)?:\/+[^:@/]*):.*$/i

/** The same in the path of a URL, where an address was given in place of a name. */
const IN_ENCODED_ADDRESS = /\b(postgres(?:ql)?%3A(?:%2F)+(?:(?!%3A|%40|%2F).)*)%3A.*$/i

/** As a parameter of an address, in a connection string of `name=value`, and as a variable. */
const AS_VALUE = /\b((?:PG|ssl)?password)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'"]+)/gi

/** A private key, whole or cut off. */
const PRIVATE_KEY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g

/** Hides the passwords, and private keys, in a text that has addresses of databases, in whatever form `psql` takes them. */
export function maskPasswords(text: string): string {
  return text
    .replace(/\S+/g, (word) => maskBefore('%40', IN_ENCODED_ADDRESS, maskBefore('@', IN_ADDRESS, word)))
    .replace(AS_VALUE, `$1$2${MASK}`)
    .replace(PRIVATE_KEY, `$1${MASK}$2`)
}

/**
 * To the last "@" of the word: a password in it may have been written without its "@" and "/" being encoded. The "@" is
 * looked for first, so that a long word takes no longer than its length says: clients choose some that are logged.
 */
function maskBefore(at: string, address: RegExp, word: string): string {
  const end = word.lastIndexOf(at)
  return end === -1 ? word : word.slice(0, end).replace(address, `$1:${MASK}`) + word.slice(end)
}
