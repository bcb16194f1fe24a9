import { inCreationOrder } from './creation-order.ts'
import type { ObjectKey } from './dependencies.ts'
import { describable, type LineContext } from './line-context.ts'
import type { CompositeLine, DomainLine, EnumLine, RangeLine, TypeLine } from './lines.ts'
import { withoutNulls } from './query.ts'
import type { CompositeRow, DomainRow, EnumRow, RangeRow, TypeRows } from './read-types.ts'

/**
 * The lines of the schema's types, in an order in which they can be made.
 *
 * @param needs by type, what it depends on.
 */
export function toTypeLines(
  { enums, domains, composites, ranges }: TypeRows,
  needs: ReadonlyMap<ObjectKey, ReadonlySet<ObjectKey>>,
  context: LineContext,
): TypeLine[] {
  const orderable = (row: EnumRow | DomainRow | CompositeRow | RangeRow, line: TypeLine) => ({
    key: row.key,
    name: row.name,
    needs: needs.get(row.key) ?? new Set<string>(),
    prefers: new Set<string>(),
    line,
  })
  const types = [
    ...describable(context, 'enum', enums).map((row) => orderable(row, { kind: 'enum', content: toEnum(row) })),
    ...describable(context, 'domain', domains).map((row) =>
      orderable(row, { kind: 'domain', content: toDomain(row, context) }),
    ),
    ...describable(context, 'composite type', composites).map((row) =>
      orderable(row, { kind: 'composite', content: toComposite(row) }),
    ),
    ...describable(context, 'range', ranges).map((row) => orderable(row, { kind: 'range', content: toRange(row) })),
  ]
  return inCreationOrder(types).map(({ line }) => line)
}

const toEnum = ({ name, values, comment }: EnumRow): EnumLine => withoutNulls({ name, values, comment })

function toDomain(row: DomainRow, context: LineContext): DomainLine {
  const { name, type, nullable, collation, comment } = row
  const [kept] = describable(context, 'default', [{ key: row.default_key, name }])
  const checks = describable(context, 'check', row.checks, name)
  return withoutNulls({
    name,
    type,
    nullable,
    default: kept ? row.default : null,
    collation,
    checks: checks.map((check) => ({ name: check.name, definition: check.definition })),
    comment,
  })
}

function toComposite({ name, attributes, comment }: CompositeRow): CompositeLine {
  return withoutNulls({ name, attributes: attributes.map(withoutNulls), comment })
}

function toRange({ name, subtype, operator_class, collation, difference, multirange, comment }: RangeRow): RangeLine {
  return withoutNulls({ name, subtype, operatorClass: operator_class, collation, difference, multirange, comment })
}
