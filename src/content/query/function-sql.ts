import { quoteIdentifier, quoteQualified } from '../../database/quoting.ts'
import type { CatalogFunction, FunctionArgument, StageCatalog } from './catalog.ts'
import type { FoundFunction } from './find-function.ts'
import type { GivenArguments } from './function-call.ts'
import { arrayLiteral, type Parameters } from './parameters.ts'
import { parameterSource } from './reader.ts'

/**
 * The statement that calls a function: its rows are the results. A value is in the column `value`; the columns of a row have
 * their own names.
 */
export function callSql(
  { schemaName }: StageCatalog,
  { called, takesBody }: FoundFunction,
  given: GivenArguments,
  parameters: Parameters,
): string {
  const { values, from } = takesBody
    ? { values: [bodyAsArgument(called, given, parameters)], from: '' }
    : namedArguments(called, given, parameters)
  const call = `${quoteQualified(schemaName, called.name)}(${values.join(', ')})`
  const { result } = called
  if (result.kind !== 'row') return `SELECT ${call} AS value${from === '' ? '' : ` FROM ${from}`}`
  const columns = [...result.table.columns.keys()].map(quoteIdentifier).join(', ')
  return `SELECT result.* FROM ${from === '' ? '' : `${from} CROSS JOIN LATERAL `}${call} AS result (${columns})`
}

interface Arguments {
  readonly values: readonly string[]
  /** What they are taken from; empty where they need nothing. */
  readonly from: string
}

function namedArguments(called: CatalogFunction, given: GivenArguments, parameters: Parameters): Arguments {
  if (given.kind === 'text') {
    const values = called.arguments.flatMap((argument) => {
      const texts = given.values.get(argument.name)
      return texts ? [named(argument, textArgument(argument, texts, parameters))] : []
    })
    return { values, from: '' }
  }
  if (given.kind === 'whole') return { values: [], from: '' }
  const used = called.arguments.filter(({ name }) => given.names.includes(name))
  if (used.length === 0) return { values: [], from: '' }
  const json = parameters.of(given.text, 'pg_catalog.json')
  const object = given.isArray ? `(${json} -> 0)` : json
  const columns = used.map(({ name, type }) => `${quoteIdentifier(name)} ${type.sql}`).join(', ')
  return {
    values: used.map((argument) => named(argument, `given.${quoteIdentifier(argument.name)}`)),
    from: `pg_catalog.json_to_record(${object}) AS given (${columns})`,
  }
}

const named = ({ name, variadic }: FunctionArgument, value: string): string =>
  `${variadic ? 'VARIADIC ' : ''}${quoteIdentifier(name)} => ${value}`

/** Of what was given several times, an argument that takes any number of values takes all, and others the last. */
function textArgument(
  { name, type, variadic }: FunctionArgument,
  texts: readonly string[],
  parameters: Parameters,
): string {
  const value = variadic ? arrayLiteral(texts) : (texts.at(-1) ?? '')
  return parameters.of(value, type.sql, {
    source: parameterSource(name),
    column: name,
    kind: 'argument',
    values: texts,
  })
}

function bodyAsArgument(called: CatalogFunction, given: GivenArguments, parameters: Parameters): string {
  if (given.kind === 'text') throw new Error('arguments with names are no argument without one')
  if (given.kind === 'whole' && given.type === 'bytea') return parameters.bytes(given.bytes)
  return parameters.of(given.text, called.arguments[0]?.type.sql ?? 'pg_catalog.text')
}
