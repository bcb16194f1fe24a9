import type { Entry, LineContent } from '../lines.ts'
import type { ConstraintKind, Definition } from './definition.ts'

/** A text of SQL that a line holds. */
export interface SqlField {
  /** Where in the line, as messages name it: `table.columns.0.default`. */
  readonly field: string
  readonly text: string
  readonly definition: Definition
}

const TYPE: Definition = { form: 'type' }
const EXPRESSION: Definition = { form: 'expression' }

/** All texts of a line that PostgreSQL will be given as SQL. */
export function sqlFieldsOf({ kind, content }: Entry): readonly SqlField[] {
  switch (kind) {
    case 'domain':
      return [
        ...field('domain.type', content.type, TYPE),
        ...field('domain.default', content.default, EXPRESSION),
        ...definitions('domain.checks', content.checks, () => ({ form: 'domain check' })),
      ]
    case 'composite':
      return content.attributes.flatMap(({ type }, at) => field(`composite.attributes.${at}.type`, type, TYPE))
    case 'range':
      return field('range.subtype', content.subtype, TYPE)
    case 'table':
      return tableFields(content)
    case 'function': {
      const { name, kind: function_, arguments: types, definition } = content
      return [
        ...field('function.arguments', types, { form: 'arguments', kind: function_ }),
        ...field('function.definition', definition, { form: 'function', name, kind: function_ }),
      ]
    }
    case 'operator':
      return [
        ...field('operator.left', content.left, TYPE),
        ...field('operator.right', content.right, TYPE),
        ...field('operator.definition', content.definition, { form: 'operator', name: content.name }),
      ]
    case 'cast':
      return [
        ...field('cast.source', content.source, TYPE),
        ...field('cast.target', content.target, TYPE),
        ...field('cast.definition', content.definition, { form: 'cast' }),
      ]
    case 'collation':
      return field('collation.definition', content.definition, { form: 'collation', name: content.name })
    case 'textSearchDictionary': {
      const { name, definition } = content
      return field('textSearchDictionary.definition', definition, { form: 'text search dictionary', name })
    }
    case 'view':
      return [
        ...field('view.definition', content.definition, { form: 'query' }),
        ...content.columns.flatMap(({ type, default: expression }, at) => [
          ...field(`view.columns.${at}.type`, type, TYPE),
          ...field(`view.columns.${at}.default`, expression, EXPRESSION),
        ]),
      ]
    case 'materializedView':
      return [
        ...field('materializedView.definition', content.definition, { form: 'query' }),
        ...definitions('materializedView.indexes', content.indexes, ({ name }) => ({
          form: 'index',
          name,
          table: content.name,
        })),
      ]
    case 'trigger':
    case 'rule':
    case 'policy':
    case 'statistics': {
      const { name, table, definition } = content
      return field(`${kind}.definition`, definition, { form: kind, name, table })
    }
    default:
      return []
  }
}

function tableFields(table: LineContent<'table'>): readonly SqlField[] {
  const constraint = (kind: ConstraintKind): Definition => ({ form: 'constraint', kind })
  return [
    ...table.columns.flatMap(({ type, default: expression, generated }, at) => [
      ...field(`table.columns.${at}.type`, type, TYPE),
      ...field(`table.columns.${at}.default`, expression, EXPRESSION),
      ...field(`table.columns.${at}.generated`, generated, EXPRESSION),
    ]),
    ...field('table.primaryKey.definition', table.primaryKey?.definition, constraint('primary key')),
    ...definitions('table.unique', table.unique, () => constraint('unique')),
    ...definitions('table.checks', table.checks, () => constraint('check')),
    ...definitions('table.exclusions', table.exclusions, () => constraint('exclusion')),
    ...definitions('table.foreignKeys', table.foreignKeys, ({ references }) => ({
      form: 'constraint',
      kind: 'foreign key',
      references,
    })),
    ...definitions('table.indexes', table.indexes, ({ name }) => ({
      form: 'index',
      name,
      table: table.name,
      ...(table.partitionBy !== undefined && { only: true }),
    })),
    ...field('table.partitionBy', table.partitionBy, { form: 'partition key' }),
    ...field('table.partitionOf.bound', table.partitionOf?.bound, { form: 'partition bound' }),
  ]
}

const definitions = <Item extends { readonly definition: string }>(
  list: string,
  items: readonly Item[],
  definitionOf: (item: Item) => Definition,
): readonly SqlField[] =>
  items.flatMap((item, at) => field(`${list}.${at}.definition`, item.definition, definitionOf(item)))

const field = (name: string, text: string | undefined, definition: Definition): readonly SqlField[] =>
  text === undefined ? [] : [{ field: name, text, definition }]
