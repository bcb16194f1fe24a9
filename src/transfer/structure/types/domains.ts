import { quoteIdentifier } from '../../../database/quoting.ts'
import { collate, commentOn } from '../clauses.ts'
import type { ObjectKey } from '../dependencies.ts'
import { describable, type LineContext } from '../line-context.ts'
import { type DomainLine, present, yesOrNo } from '../lines.ts'
import { jsonObject } from '../query.ts'
import { TYPE_COMMENT, type TypeKind, type TypeRow, typeColumns } from './type-kind.ts'

export interface DomainRow extends TypeRow<DomainLine> {
  readonly default_key: ObjectKey
  /** By name, the checks of the line. */
  readonly check_keys: readonly { readonly name: string; readonly key: ObjectKey }[]
}

const CHECK_SQL = jsonObject({
  name: 'c.conname',
  definition: 'pg_catalog.pg_get_constraintdef(c.oid)',
  comment: `pg_catalog.obj_description(c.oid, 'pg_constraint')`,
})

const LINE_SQL = jsonObject({
  name: 't.typname',
  type: 'pg_catalog.format_type(t.typbasetype, t.typtypmod)',
  nullable: 'NOT t.typnotnull',
  notNull: `(SELECT n.conname FROM pg_catalog.pg_constraint n
              WHERE n.contypid = t.oid AND n.contype = 'n' AND n.conname <> t.typname::text || '_not_null')`,
  default: 'pg_catalog.pg_get_expr(t.typdefaultbin, 0)',
  collation: 'pg_catalog.quote_ident(l.collname::text)',
  checks: 'checks.lines',
  comment: TYPE_COMMENT,
})

/** A domain is made without its default and checks, which may name types that come later. */
export const DOMAIN: TypeKind<'domain'> = {
  noun: 'domain',
  sql: `
SELECT ${typeColumns(LINE_SQL)}, 'domain default:' || t.oid::text AS default_key, checks.keys AS check_keys
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_type base ON base.oid = t.typbasetype
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = t.typcollation AND t.typcollation <> base.typcollation
  CROSS JOIN LATERAL (
    SELECT COALESCE(pg_catalog.json_agg(${CHECK_SQL} ORDER BY c.conname), '[]') AS lines,
           COALESCE(pg_catalog.json_agg(${jsonObject({ name: 'c.conname', key: `'pg_constraint:' || c.oid::text` })}), '[]')
             AS keys
      FROM pg_catalog.pg_constraint c WHERE c.contypid = t.oid AND c.contype = 'c'
  ) checks
 WHERE t.typnamespace = $1::pg_catalog.oid AND t.typtype = 'd'
 ORDER BY t.typname`,
  create: (name, line) => `CREATE DOMAIN ${name} AS ${line.type}${collate(line)}${notNull(line)}`,
  complete: (name, { default: expression, checks = [] }) => [
    ...(expression === undefined ? [] : [`ALTER DOMAIN ${name} SET DEFAULT ${expression}`]),
    ...addChecks(
      name,
      checks.filter((check) => !isUnchecked(check)),
    ),
  ],
  facts: ({ type, nullable, default: expression, collation, checks }) =>
    present({
      type,
      nullable: yesOrNo(nullable),
      default: expression,
      collation,
      checks: checks?.map(({ name, definition }) => `${name} ${definition}`).join(', ') || undefined,
    }),
}

function notNull({ nullable, notNull: name }: DomainLine): string {
  if (nullable) return ''
  return name === undefined ? ' NOT NULL' : ` CONSTRAINT ${quoteIdentifier(name)} NOT NULL`
}

type Check = NonNullable<DomainLine['checks']>[number]

const isUnchecked = ({ definition }: Check): boolean => definition.endsWith(' NOT VALID')

const addChecks = (name: string, checks: readonly Check[]): string[] =>
  checks.flatMap((check) => [
    `ALTER DOMAIN ${name} ADD CONSTRAINT ${quoteIdentifier(check.name)} ${check.definition}`,
    ...commentOn(`CONSTRAINT ${quoteIdentifier(check.name)} ON DOMAIN ${name}`, check.comment),
  ])

/** Checks that values need not fulfil which are there before them. @param name quoted. */
export const uncheckedDomainChecks = (name: string, { checks = [] }: DomainLine): string[] =>
  addChecks(name, checks.filter(isUnchecked))

/** The line of a domain, without a default or checks that cannot be described. */
export function toDomainLine({ line, name, default_key, check_keys }: DomainRow, context: LineContext): DomainLine {
  const { default: expression, ...others } = line
  const [kept] = describable(context, 'default', [{ key: default_key, name }])
  const checks = new Set(describable(context, 'check', check_keys, name).map((check) => check.name))
  return { ...(kept ? line : others), checks: line.checks?.filter((check) => checks.has(check.name)) ?? [] }
}
