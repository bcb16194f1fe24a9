import type { Queryable } from '../database/database.ts'
import { Prisma } from '../database/generated/client.ts'

/**
 * Whether the import of a job may have been committed in a database that is not Wharf's, though its record does not say so: it
 * is looked there before such a job ends. `transfer/import/external/imports-in-doubt.ts` writes that down.
 *
 * @param id SQL of the job's id.
 */
export const isInDoubtSql = (id: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`EXISTS (SELECT FROM system.side_schema WHERE schema_name = 'import ' || (${id})::text
                        AND kind IN ('committing', 'recorded', 'uncertain'))`

export async function isInDoubt(control: Queryable, id: string): Promise<boolean> {
  const [found] = await control.$queryRaw<{ doubt: boolean }[]>`SELECT ${isInDoubtSql(Prisma.sql`${id}`)} AS doubt`
  return found?.doubt ?? false
}
