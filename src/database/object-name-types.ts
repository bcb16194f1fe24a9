import { typeOid } from './catalog-oids.ts'

/** The types whose values name something that a stage can have. */
const TYPES = ['class', 'collation', 'config', 'dictionary', 'oper', 'operator', 'proc', 'procedure', 'type'].map(
  (kind) => `reg${kind}`,
)

const NAMES: ReadonlySet<string> = new Set(TYPES)

/** Whether the values of a type are names of objects. @param type without its schema, e.g. `regclass`. */
export const isObjectNameType = (type: string): boolean => NAMES.has(type)

/** The oids of these types, as `IN` takes them. */
export const OBJECT_NAME_TYPES_SQL = TYPES.map(typeOid).join(', ')

/**
 * For `WITH RECURSIVE`: the types of columns, with those below domains and those of the elements of arrays.
 *
 * @param columns a condition for `pg_class c` and `pg_attribute a`.
 */
export const innerTypes = (columns: string): string => `inner_type (relation, number, oid, is_array) AS (
  SELECT a.attrelid, a.attnum, a.atttypid, false
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
   WHERE ${columns} AND a.attnum > 0 AND NOT a.attisdropped
   UNION ALL
  SELECT inner_type.relation, inner_type.number, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,
         inner_type.is_array OR t.typtype <> 'd'
    FROM inner_type JOIN pg_catalog.pg_type t ON t.oid = inner_type.oid
   WHERE t.typtype = 'd' OR t.typcategory = 'A'
)`
