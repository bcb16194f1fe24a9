import { quoteIdentifier, quoteLiteral } from '../../database/quoting.ts'
import type { CompositeLine, DomainLine, RangeLine, TypeLine } from './lines.ts'

/** `CREATE TYPE` or `CREATE DOMAIN`; a domain without its default and checks, which may name types that come later. */
export function createType({ kind, content }: TypeLine): string {
  const name = quoteIdentifier(content.name)
  switch (kind) {
    case 'enum':
      return `CREATE TYPE ${name} AS ENUM (${content.values.map(quoteLiteral).join(', ')})`
    case 'domain':
      return `CREATE DOMAIN ${name} AS ${content.type}${collate(content)}${content.nullable ? '' : ' NOT NULL'}`
    case 'composite':
      return `CREATE TYPE ${name} AS (${attributes(content)})`
    case 'range':
      return `CREATE TYPE ${name} AS RANGE (${rangeOptions(content)})`
  }
}

/** What a type is given once all types are there: a domain's default and checks, comments. */
export function describeType({ kind, content }: TypeLine): string[] {
  const name = quoteIdentifier(content.name)
  const noun = kind === 'domain' ? 'DOMAIN' : 'TYPE'
  const comments =
    content.comment === undefined ? [] : [`COMMENT ON ${noun} ${name} IS ${quoteLiteral(content.comment)}`]
  return kind === 'domain' ? [...alterDomain(name, content), ...comments] : comments
}

function alterDomain(name: string, { default: expression, checks = [] }: DomainLine): string[] {
  return [
    ...(expression === undefined ? [] : [`ALTER DOMAIN ${name} SET DEFAULT ${expression}`]),
    ...checks.map((check) => `ALTER DOMAIN ${name} ADD CONSTRAINT ${quoteIdentifier(check.name)} ${check.definition}`),
  ]
}

const attributes = ({ attributes: list }: CompositeLine): string =>
  list.map((attribute) => `${quoteIdentifier(attribute.name)} ${attribute.type}${collate(attribute)}`).join(', ')

function rangeOptions({ subtype, operatorClass, collation, difference, multirange }: RangeLine): string {
  const options = {
    SUBTYPE: subtype,
    SUBTYPE_OPCLASS: operatorClass,
    COLLATION: collation,
    SUBTYPE_DIFF: difference,
    MULTIRANGE_TYPE_NAME: multirange === undefined ? undefined : quoteIdentifier(multirange),
  }
  return Object.entries(options)
    .flatMap(([option, value]) => (value === undefined ? [] : [`${option} = ${value}`]))
    .join(', ')
}

export const collate = ({ collation }: { readonly collation?: string }): string =>
  collation === undefined ? '' : ` COLLATE ${collation}`
