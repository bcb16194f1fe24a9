import type { PostgrestError } from '../../errors.ts'
import type { CatalogColumn, CatalogFunction } from './catalog.ts'

/** How much a name, or a list of arguments, must be like the one that PostgREST's hints ask about. */
export const ALIKE = { tables: 0.75, relations: 0.33, functions: 0.75, arguments: 0.33 } as const

/**
 * What PostgREST says, in its own words, where a failure here is one of its own.
 *
 * @see https://docs.postgrest.org/en/stable/references/errors.html
 */
export const POSTGREST_SAYS = {
  unknownTable: (schemaName: string, name: string, nearest: string | null): PostgrestError => ({
    message: `Could not find the table '${shown(schemaName)}.${name}' in the schema cache`,
    details: null,
    hint: nearest === null ? null : `Perhaps you meant the table '${shown(schemaName)}.${nearest}'`,
  }),
  unknownRelation: (
    schemaName: string,
    from: string,
    { name, hint }: { readonly name: string; readonly hint: string | null },
    nearest: string | null,
  ): PostgrestError => ({
    message: `Could not find a relationship between '${from}' and '${name}' in the schema cache`,
    details: `Searched for a foreign key relationship between '${from}' and '${name}'${hint === null ? '' : ` using the hint '${hint}'`} in the schema '${shown(schemaName)}', but no matches were found.`,
    hint: nearest === null ? null : `Perhaps you meant '${nearest}' instead of '${name}'.`,
  }),
  ambiguousRelation: (
    from: string,
    name: string,
    found: readonly { readonly cardinality: string; readonly relationship: string }[],
  ): PostgrestError => {
    const names = found.map(({ relationship }) => `'${name}!${relationship.split(' ', 1)[0]}'`)
    return {
      message: `Could not embed because more than one relationship was found for '${from}' and '${name}'`,
      details: found.map((each) => ({ ...each, embedding: `${from} with ${name}` })),
      hint: `Try changing '${name}' to one of the following: ${names.join(', ')}. Find the desired relationship in the 'details' key.`,
    }
  },
  notEmbedded: (name: string): PostgrestError => ({
    message: `'${name}' is not an embedded resource in this request`,
    details: null,
    hint: `Verify that '${name}' is included in the 'select' query parameter.`,
  }),
  orderByMany: (from: string, name: string): PostgrestError => ({
    message: `A related order on '${name}' is not possible`,
    details: `'${from}' and '${name}' do not form a many-to-one or one-to-one relationship`,
  }),
  aggregateOfMany: {
    message: 'Feature not implemented',
    details: 'Aggregates are not implemented for one-to-many or many-to-many spreads.',
  },
  unknownColumn: (table: string, name: string, nearest: string | null): PostgrestError => ({
    message: `column ${table}.${name} does not exist`,
    hint: nearest === null ? null : `Perhaps you meant to reference the column "${table}.${nearest}".`,
  }),
  unknownType: (name: string): PostgrestError => ({ message: `type "${name}" does not exist` }),
  /** In PostgreSQL's words. */
  unknownOperator: (left: string, operator: string, right = 'unknown'): PostgrestError => ({
    message: `operator does not exist: ${left} ${operator} ${right}`,
    hint: 'No operator matches the given name and argument types. You might need to add explicit type casts.',
  }),
  malformedJson: { message: 'Empty or invalid json' },
  unevenKeys: { message: 'All object keys must match', details: null },
  unevenLines: { message: 'All lines must have same number of fields', details: null },
  unknownColumnOfBody: (table: string, name: string): PostgrestError => ({
    message: `Could not find the '${name}' column of '${table}' in the schema cache`,
    details: null,
  }),
  /** As PostgreSQL says it. */
  generatedColumn: ({ name, generated }: CatalogColumn, kind: 'insert' | 'update'): PostgrestError => ({
    message:
      kind === 'insert'
        ? `cannot insert a non-DEFAULT value into column "${name}"`
        : `column "${name}" can only be updated to DEFAULT`,
    details: `Column "${name}" is ${generated ? 'a generated column' : 'an identity column defined as GENERATED ALWAYS'}.`,
  }),
  putWithoutKey: { message: "Filters must include all and only primary key columns with 'eq' operators" },
  putWithLimit: { message: 'limit/offset querystring parameters are not allowed for PUT' },
  putOfAnotherKey: { message: 'Payload values do not match URL in primary key column(s)' },
  notOneRow: (rows: number): PostgrestError => ({
    message: 'Cannot coerce the result to a single JSON object',
    details: `The result contains ${rows} rows`,
  }),
  rangeBeyondEnd: (details: string): PostgrestError => ({ message: 'Requested range not satisfiable', details }),
  offsetBeyondEnd: (offset: number, total: number): PostgrestError =>
    POSTGREST_SAYS.rangeBeyondEnd(`An offset of ${offset} was requested, but there are only ${total} rows.`),
  noSuchTypes: (accept: string): PostgrestError => ({
    message: `None of these media types are available: ${accept}`,
  }),
  unknownPreferences: (given: readonly string[]): PostgrestError => ({
    message: 'Invalid preferences given with handling=strict',
    details: `Invalid preferences: ${given.join(', ')}`,
  }),
  tooManyAffected: (rows: number): PostgrestError => ({
    message: 'Query result exceeds max-affected preference constraint',
    details: `The query affects ${rows} rows`,
  }),
  affectedUnknown: {
    message: 'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
  },
  unknownFunction: (
    schemaName: string,
    { name, names, body }: SoughtFunction,
    nearest: string | null,
  ): PostgrestError => {
    const sought = `${shown(schemaName)}.${name}`
    const isWhole = body !== null && body !== 'json'
    const listed = names.join(', ')
    const given = names.length === 0 ? ' without parameters' : ` with parameter${names.length > 1 ? 's' : ''} ${listed}`
    const whole = body === 'json' ? 'json/jsonb' : body
    const single = whole === null ? '' : `${isWhole ? '' : ' or'} with a single unnamed ${whole} parameter`
    return {
      message: `Could not find the function ${sought}${isWhole ? '' : names.length === 0 ? given : `(${listed})`} in the schema cache`,
      details: `Searched for the function ${sought}${isWhole ? '' : given}${single}, but no matches were found in the schema cache.`,
      hint: nearest === null ? null : `Perhaps you meant to call the function ${shown(schemaName)}.${nearest}`,
    }
  },
  ambiguousFunction: (schemaName: string, found: readonly CatalogFunction[]): PostgrestError => {
    const candidates = found.map(
      (each) =>
        `${shown(schemaName)}.${each.name}(${each.arguments.map(({ name, type }) => `${name} => ${type.name}`).join(', ')})`,
    )
    return {
      message: `Could not choose the best candidate function between: ${candidates.join(', ')}`,
      details: null,
      hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    }
  },
  unknownSchema: (schemaName: string): PostgrestError => ({
    message: `The schema must be one of the following: ${schemaName}`,
  }),
} as const

/** A function as a call looked for it. */
interface SoughtFunction {
  readonly name: string
  /** Those of its arguments. */
  readonly names: readonly string[]
  /** As what its body may have been the only argument; null where it may not. */
  readonly body: 'json' | 'text' | 'xml' | 'bytea' | null
}

/** A schema of Wharf's own has the name of its project before that of the stage. */
const shown = (schemaName: string): string => schemaName.slice(schemaName.lastIndexOf('.') + 1)
