import { quoteLiteral } from '../../database/quoting.ts'

/**
 * One statement where the server is of a major version or later, another one where it is earlier: an archive is built by
 * servers of several versions, and says nothing of theirs.
 *
 * @param earlier may be empty.
 */
export function sinceVersion(version: number, statement: string, earlier: string): string {
  const body = `
    BEGIN
      EXECUTE CASE WHEN pg_catalog.current_setting('server_version_num')::integer >= ${version}0000
                   THEN ${quoteLiteral(statement)} ELSE ${quoteLiteral(earlier)} END;
    END`
  return `DO LANGUAGE plpgsql ${quoteLiteral(body)}`
}
