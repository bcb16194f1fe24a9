import { stat } from 'node:fs/promises'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'

/** What a line of a password file is looked up by. */
export interface PasswordKey {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/** What group and others may do with a file. */
const OTHERS = 0o077

/**
 * Looks a password up in a file like `~/.pgpass`. One that others may read or write does not count.
 *
 * @see https://www.postgresql.org/docs/current/libpq-pgpass.html
 */
export async function readPassword(
  path: string,
  key: PasswordKey,
  warn: (message: string) => void,
): Promise<string | undefined> {
  const status = await unlessMissing(stat(path))
  if (!status) return undefined
  if (!status.isFile()) {
    warn(`the password file ${path} is left out: it is no plain file`)
    return undefined
  }
  if (process.platform !== 'win32' && (status.mode & OTHERS) !== 0) {
    warn(`the password file ${path} is left out: others have access to it; "chmod 0600" takes that from them`)
    return undefined
  }
  return findPassword((await readFileIfThere(path)) ?? '', key)
}

/** The password of the first line that fits. */
export function findPassword(text: string, { host, port, database, user }: PasswordKey): string | undefined {
  for (const line of text.split(/\r*\n/)) {
    if (line.startsWith('#')) continue
    const [password, ...fields] = fieldsOf(line)
    const isFor = [host, String(port), database, user].every((value, index) => fits(fields[index], value))
    if (isFor && password !== undefined && password !== '') return withoutBackslashes(password)
  }
  return undefined
}

/** The fields of a line as they are written, divided by colons without a backslash: the fifth one first. */
function fieldsOf(line: string): (string | undefined)[] {
  const fields = ['']
  for (const sign of line.match(/\\.|./gs) ?? []) {
    if (sign === ':') fields.push('')
    else fields.push(`${fields.pop()}${sign}`)
  }
  const [host, port, database, user, password] = fields
  return [password, host, port, database, user]
}

/** `*` stands for anything, and `\*` for itself. */
const fits = (field: string | undefined, value: string): boolean =>
  field !== undefined && (field === '*' || withoutBackslashes(field) === value)

const withoutBackslashes = (field: string): string => field.replace(/\\(.)/g, '$1')
