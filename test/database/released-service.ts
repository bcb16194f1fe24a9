import { readFile } from 'node:fs/promises'
import type { TestDatabase } from '../support/database/database.ts'
import { withSession } from '../support/servers/sessions.ts'

/** With what the service that wrote `test/fixtures/released-database.sql` sealed its secrets. */
export const RELEASED_SECRET_KEY = 'secret-key-of-the-tests-with-many-characters'

/** Tokens of the project `shop`, by their role; `importer` is a role of the project's own. */
export const RELEASED_TOKENS = {
  admin: 'wharf_IG_6q_SgNpRbDgiaHmhj4_w1UgcKueVWeXuGPmoklJY',
  editor: 'wharf_jTNZ69ZZTb_N76GkiYfD1v0VprvcEEXKyXqMVmrNUy4',
  importer: 'wharf_NU9Q0DgnVxVrpVc0_IeuT-aw7sjhk8mVTNN7--3BZlA',
} as const

/** The logins of its projects, with the verifiers of their passwords. */
const LOGINS: Readonly<Record<string, string>> = {
  wharf_released_shop:
    'SCRAM-SHA-256$4096:pR96DBEFDz9SAKu/xNqFZQ==$xe5u4XJOTlLUFHPC7APCxWgWT/sub0eDM2nwItcmvUw=:nYS5P3gPUZqsgLbh8UKvWNPm/0sw/XmgbdLBFN+aHSY=',
  wharf_released_copy:
    'SCRAM-SHA-256$4096:gqvnQFG7ph9EP9hiF6KirQ==$fvOhC8sj1uT36i8X8E+pVbC8S3XHIyXpyf2erQwAAhA=:f9tQyWkhyDN7sdsCdtbWEiNqdDSBGiPH99oSQQEXvNg=',
  wharf_released_plain:
    'SCRAM-SHA-256$4096:7jX+i5GZxtJGmSnZOft0mw==$7rWTCTrwa6Jj53Aj8ON9HLfZUu6JJPei8wkAnzfcEGg=:YSUiub2zg6//NV9pBfFdw0PMyFGaG7gYIhJt1IeXF2A=',
}

/**
 * Makes of an empty database the one that a service of the first release has left. Its logins are the server's, so
 * that no server can have it twice.
 */
export async function restoreReleasedDatabase(database: TestDatabase): Promise<void> {
  const [{ name } = { name: '' }] = await database.query<{ name: string }>('SELECT current_database() AS name')
  for (const [login, verifier] of Object.entries(LOGINS)) {
    await database.query(
      `CREATE ROLE ${login} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD '${verifier}'`,
    )
    await database.query(`GRANT ${login} TO CURRENT_USER`)
    await database.query(`GRANT CONNECT, TEMPORARY ON DATABASE ${name} TO ${login}`)
  }
  const dump = await readFile(new URL('../fixtures/released-database.sql', import.meta.url), 'utf8')
  await withSession(database.superuserUrl, (session) => session.query(dump))
  // What is kept is kept for a day, and for as long as nothing has been altered since the import: its transaction is the
  // one of this restore.
  await database.query(
    `UPDATE system.side_schema SET expires_at = now() + interval '1 day',
       replaced_by = jsonb_set(replaced_by, '{transaction}', to_jsonb(c.xmin::text))
     FROM pg_class c WHERE c.oid = '"copy.live".artist'::regclass`,
  )
}
