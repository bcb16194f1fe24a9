import type { Entry } from '../lines.ts'
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
export function sqlFieldsOf(entry: Entry): readonly SqlField[] {
  switch (entry.kind) {
    case 'domain': {
      const { type, default: expression, checks } = entry.content
      return [
        { field: 'domain.type', text: type, definition: TYPE },
        ...some('domain.default', expression, EXPRESSION),
        ...checks.map(({ definition }, at) => ({
          field: `domain.checks.${at}.definition`,
          text: definition,
          definition: { form: 'domain check' } as const,
        })),
      ]
    }
    case 'composite':
      return entry.content.attributes.map(({ type }, at) => ({
        field: `composite.attributes.${at}.type`,
        text: type,
        definition: TYPE,
      }))
    case 'range':
      return [{ field: 'range.subtype', text: entry.content.subtype, definition: TYPE }]
    case 'table':
      return [...columnFields(entry.content), ...constraintFields(entry.content), ...indexFields(entry.content)]
    default:
      return []
  }
}

type Table = Extract<Entry, { readonly kind: 'table' }>['content']

const columnFields = ({ columns }: Table): readonly SqlField[] =>
  columns.flatMap(({ type, default: expression, generated }, at) => [
    { field: `table.columns.${at}.type`, text: type, definition: TYPE },
    ...some(`table.columns.${at}.default`, expression, EXPRESSION),
    ...some(`table.columns.${at}.generated`, generated, EXPRESSION),
  ])

function constraintFields({ primaryKey, unique, checks, foreignKeys, exclusions }: Table): readonly SqlField[] {
  const fields = (kind: ConstraintKind, field: string, list: readonly { readonly definition: string }[]) =>
    list.map(({ definition: text }, at) => ({
      field: `table.${field}.${at}.definition`,
      text,
      definition: { form: 'constraint', kind } as const,
    }))
  return [
    ...some('table.primaryKey.definition', primaryKey?.definition, { form: 'constraint', kind: 'primary key' }),
    ...fields('unique', 'unique', unique),
    ...fields('check', 'checks', checks),
    ...fields('exclusion', 'exclusions', exclusions),
    ...foreignKeys.map(({ definition: text, references }, at) => ({
      field: `table.foreignKeys.${at}.definition`,
      text,
      definition: { form: 'constraint', kind: 'foreign key', references } as const,
    })),
  ]
}

const indexFields = ({ name: table, indexes }: Table): readonly SqlField[] =>
  indexes.map(({ name, definition: text }, at) => ({
    field: `table.indexes.${at}.definition`,
    text,
    definition: { form: 'index', name, table },
  }))

const some = (field: string, text: string | undefined, definition: Definition): readonly SqlField[] =>
  text === undefined ? [] : [{ field, text, definition }]
