import { quoteQualified } from '../../../database/quoting.ts'
import { lockAgainstWriters } from '../../../projects/project-objects.ts'
import type { Query } from '../../structure/query.ts'

export interface Loaded {
  readonly schemaName: string
  /** All tables, those without rows, too: with how many they have by now, those of the transaction that is open included. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** The ids of all transactions of the import, with that one, as `xmin` has them. */
  readonly ids: readonly string[]
}

/**
 * Whether the tables that an import has loaded in several transactions are as it made them, and hold the rows that it loaded
 * and no others. Their owner, the project's login, could name them in between.
 *
 * Whatever is made of a table leaves another id in its row of `pg_class`, or in the catalogs that `readStructureState` reads;
 * whatever is written leaves it in the row, and what is deleted is missing. Nobody can write afterwards, until the
 * transaction ends.
 *
 * @param query in the session that loads. It reads all rows once, and once more those of a table that several
 * transactions have loaded.
 */
export async function isOnlyOurs(query: Query, { schemaName, tables, ids }: Loaded): Promise<boolean> {
  for (let first = 0; first < tables.length; first += AT_ONCE) {
    const some = tables.slice(first, first + AT_ONCE)
    await query(lockAgainstWriters(some.map(({ name }) => ({ schema: schemaName, name }))), [])
  }
  const [relations] = await query<{ others: boolean }>(RELATIONS_SQL, [schemaName, ids])
  if (relations?.others !== false) return false
  /** @returns those whose rows are not all as `isOurs` says, or are more or fewer. */
  const othersOf = async (some: Loaded['tables'], isOurs: RowCondition): Promise<Loaded['tables']> => {
    // Plain parameters: questions that are asked at the same time are sent in one message then.
    const counted = await Promise.all(
      some.map(({ name }) =>
        query<Counted>(countSql(quoteQualified(schemaName, name), isOurs), [`{${ids.join(',')}}`]),
      ),
    )
    return some.filter(({ rows }, index) => {
      const [count] = counted[index] ?? []
      return count?.all !== rows || count.ours !== rows
    })
  }
  for (let first = 0; first < tables.length; first += AT_ONCE) {
    const ofSeveral = await othersOf(tables.slice(first, first + AT_ONCE), isLikeTheFirst)
    if ((await othersOf(ofSeveral, isOfAnyId)).length > 0) return false
  }
  return true
}

/**
 * Whether a table of a schema has a trigger. An import makes those last; one that SQL of the project has put on a table before its
 * rows came could have changed these, and leave no trace: to empty the table writes its row of `pg_class` once more. Those that
 * PostgreSQL makes for a deferrable key change none.
 *
 * @param query in a session that has emptied tables of it and loaded them. It holds the locks of these, so none of their triggers
 *   can have been dropped since.
 */
export async function hasTriggers(query: Query, schemaName: string): Promise<boolean> {
  const [triggers] = await query<{ found: boolean }>(TRIGGERS_SQL, [schemaName])
  return triggers?.found !== false
}

/** How many tables are asked about in one message. */
const AT_ONCE = 100

interface Counted {
  readonly all: number
  readonly ours: number
}

/** SQL that tells the rows of a table that the import has loaded. @param table its name, quoted. */
type RowCondition = (table: string) => string

const isOfAnyId: RowCondition = () => 'xmin OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.xid[])'

/** True of all of them where one transaction has loaded the table: one id takes less than half of the time of several. */
const isLikeTheFirst: RowCondition = (table) =>
  `xmin OPERATOR(pg_catalog.=) (SELECT xmin FROM ONLY ${table} WHERE ${isOfAnyId(table)} LIMIT 1)`

const countSql = (table: string, isOurs: RowCondition): string => `
  SELECT pg_catalog.count(*)::pg_catalog.float8 AS "all",
         pg_catalog.count(*) FILTER (WHERE ${isOurs(table)})::pg_catalog.float8 AS ours
    FROM ONLY ${table}`

const RELATIONS_SQL = `
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::pg_catalog.name AND NOT c.xmin OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.xid[])
) AS others`

const TRIGGERS_SQL = `
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1::pg_catalog.name AND NOT t.tgisinternal
) AS found`
