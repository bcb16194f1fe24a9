import { commentOnSchema } from '../../../projects/project-objects.ts'
import type { Query } from '../../structure/query.ts'

/** The statements by which the comment on a schema goes where its objects go, as far as they are the login's to run. */
export async function moveComments(
  query: Query,
  { from, to, old }: { readonly from: string; readonly to: string; readonly old: string },
): Promise<readonly string[]> {
  const coming = await readComment(query, from)
  const going = await readComment(query, to)
  return [
    ...(going.comment === null ? [] : [commentOnSchema(old, going.comment)]),
    ...(going.isOwned && going.comment !== coming.comment ? [commentOnSchema(to, coming.comment)] : []),
  ]
}

/** The statement that comments on a schema, where it is the login's to run. @param comment undefined for none. */
export async function commentIfOwned(query: Query, schemaName: string, comment: string | undefined) {
  const { isOwned } = await readComment(query, schemaName)
  return isOwned && comment !== undefined ? [commentOnSchema(schemaName, comment)] : []
}

async function readComment(query: Query, schemaName: string) {
  const [found] = await query<{ comment: string | null; isOwned: boolean }>(COMMENT_SQL, [schemaName])
  return found ?? { comment: null, isOwned: false }
}

const COMMENT_SQL = `
SELECT pg_catalog.obj_description(oid, 'pg_namespace') AS comment, pg_catalog.pg_has_role(nspowner, 'USAGE') AS "isOwned"
  FROM pg_catalog.pg_namespace WHERE nspname = $1::pg_catalog.name`
