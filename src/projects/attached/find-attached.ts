import type { Queryable } from '../../database/database.ts'
import type { Seal } from '../../lib/seal.ts'
import { identityOf } from './attachment.ts'

/**
 * The project that a database is attached as, by whichever login: found by what the server says of itself, or,
 * where it says nothing, by its address.
 *
 * @param found `name`: its address without password and parameters.
 */
export async function findAttachedAlready(
  control: Queryable,
  seal: Seal,
  found: { readonly identity: string | null; readonly name: string },
): Promise<string | undefined> {
  const rows = await control.attachment.findMany({ include: { project: { select: { slug: true } } } })
  const isSame = (row: (typeof rows)[number]): boolean =>
    found.identity === null
      ? withoutLogin(row.name) === withoutLogin(found.name)
      : identityOf(seal, row) === found.identity
  return rows.find(isSame)?.project.slug
}

const withoutLogin = (name: string): string => name.slice(name.lastIndexOf('@'))
