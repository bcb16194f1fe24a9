import { rejected } from '../sql-rejected.ts'

/** What to do instead, by the command of psql. */
const INSTEAD: Readonly<Record<string, string>> = {
  connect: 'a script stays in its stage: make the dump without --create, and not with pg_dumpall',
  c: 'a script stays in its stage: make the dump without --create, and not with pg_dumpall',
  i: 'put what that file holds in its place',
  ir: 'put what that file holds in its place',
  include: 'put what that file holds in its place',
  include_relative: 'put what that file holds in its place',
  copy: 'write COPY … FROM stdin, with the rows behind it',
  encoding: 'write SET client_encoding = …',
  g: 'end the statement with a semicolon',
}

/** What pg_dump writes so that psql runs no command from the data. */
const PASSED = /^\\(?:un)?restrict(?:\s|$)/

/**
 * Passes over a command of psql that means nothing here.
 *
 * @param text the command and what follows it in its line. @param isAlone whether it stands between statements.
 * @throws {AppError} SQL_REJECTED for any other.
 */
export function passMetaCommand(text: string, line: number, isAlone: boolean): void {
  if (isAlone && PASSED.test(text)) return
  const [command = '\\'] = /^\\(?:[A-Za-z_]+|\S?)/.exec(text) ?? []
  const instead = INSTEAD[command.slice(1)] ?? 'leave it out'
  throw rejected(`${command} is a command of psql and not SQL: ${instead}`, { line })
}
