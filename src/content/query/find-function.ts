import { AppError, type PostgrestError } from '../../errors.ts'
import type { CatalogFunction, FunctionArgument, StageCatalog } from './catalog.ts'
import type { GivenArguments } from './function-call.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { ALIKE, POSTGREST_SAYS } from './postgrest-words.ts'
import { mostAlike, suggest } from './suggest.ts'

/** A function, and how its arguments are to be given to it. */
export interface FoundFunction {
  readonly called: CatalogFunction
  /** Whether the body is its only argument; else they are given by name. */
  readonly takesBody: boolean
}

/**
 * Finds the function that a call means, by the names of its arguments: all that have no default must be given, and no other.
 * Where there is none, one with a single argument without a name takes the body as a whole.
 *
 * @throws {AppError} NOT_FOUND where there is none; AMBIGUOUS_FUNCTION where there are several.
 */
export function findFunction(catalog: StageCatalog, name: string, given: GivenArguments): FoundFunction {
  const called = catalog.functions.get(name) ?? []
  const names = namesOf(given)
  const byName = names ? called.filter((each) => takes(each, names)) : []
  const takesBody = byName.length === 0
  const found = takesBody ? called.filter((each) => takesWhole(each, given)) : byName
  const [only] = found
  if (only && found.length === 1) return { called: only, takesBody }
  if (only) throw ambiguous(catalog, name, found)
  throw unknownFunction(catalog, name, given, called)
}

/** The names under which arguments are given; undefined where they have none. */
function namesOf(given: GivenArguments): readonly string[] | undefined {
  if (given.kind === 'text') return [...given.values.keys()]
  return given.kind === 'json' ? [...new Set(given.names)] : undefined
}

function takes({ arguments: all }: CatalogFunction, names: readonly string[]): boolean {
  if (all.some(({ name, optional }) => name === '' && !optional)) return false
  const needed = all.filter(({ optional }) => !optional)
  return (
    needed.every(({ name }) => names.includes(name)) && names.every((name) => all.some((each) => each.name === name))
  )
}

/** Whether its only argument has no name, and is of the type that the body is of. */
function takesWhole({ arguments: all }: CatalogFunction, given: GivenArguments): boolean {
  const [argument] = all
  if (!argument || all.length > 1 || argument.name !== '' || given.kind === 'text') return false
  if (given.kind === 'json' && given.isNamed) return false
  const type = given.kind === 'json' ? 'json' : given.type
  return argument.type.builtIn === type || (type === 'json' && argument.type.builtIn === 'jsonb')
}

const MAX_SHOWN = 20
const MAX_NAME = 200

function ambiguous({ schemaName }: StageCatalog, name: string, found: readonly CatalogFunction[]): AppError {
  const message = `"${name}" may be any of ${found.length} functions, which take arguments of these names: give their arguments other names`
  const some = found.slice(0, MAX_SHOWN)
  const faults = some.map((each) => ({ detail: `could be ${signatureOf(each, true)}` }))
  const postgrest = POSTGREST_SAYS.ambiguousFunction(schemaName, some)
  return new AppError('AMBIGUOUS_FUNCTION', message, { faults, postgrest })
}

function unknownFunction(
  catalog: StageCatalog,
  name: string,
  given: GivenArguments,
  called: readonly CatalogFunction[],
): AppError {
  const shown = name.slice(0, MAX_NAME)
  const names = namesOf(given)
    ?.slice(0, MAX_SHOWN)
    .map((each) => each.slice(0, MAX_NAME))
  const options = {
    postgrestCode: POSTGREST.unknownFunction,
    postgrest: inPostgrestsWords(catalog, shown, given, names?.toSorted() ?? []),
  }
  if (called.length === 0) {
    const nearest = suggest(name, catalog.functions.keys())
    return new AppError(
      'NOT_FOUND',
      `there is no function "${shown}" in this stage that can be called${nearest}`,
      options,
    )
  }
  const list = names?.map((each) => `"${each}"`).join(', ')
  const how =
    list === undefined
      ? 'with a single argument that has no name and is of the type of the body'
      : list === ''
        ? 'without arguments'
        : `with the arguments ${list}`
  const known = called.slice(0, MAX_SHOWN).map((each) => signatureOf(each, false))
  return new AppError(
    'NOT_FOUND',
    `there is no function "${shown}" ${how} in this stage; there is ${known.join(', ')}`,
    options,
  )
}

function inPostgrestsWords(
  { schemaName, functions }: StageCatalog,
  name: string,
  given: GivenArguments,
  names: readonly string[],
): PostgrestError {
  const body = bodyOf(given)
  const sought = { name, names, body }
  if (body !== null && body !== 'json') return POSTGREST_SAYS.unknownFunction(schemaName, sought, null)
  const named = functions.get(name)?.filter(isKnownToPostgrest) ?? []
  const nearest =
    named.length === 0
      ? mostAlike(name, namesIn(functions), ALIKE.functions)
      : mostAlike(listOf(names), named.map(argumentsOf), ALIKE.arguments)
  const hint = named.length === 0 || nearest === null ? nearest : `${name}${nearest}`
  return POSTGREST_SAYS.unknownFunction(schemaName, sought, hint)
}

function bodyOf(given: GivenArguments): 'json' | 'text' | 'xml' | 'bytea' | null {
  if (given.kind === 'whole') return given.type
  return given.kind === 'json' && !given.isNamed ? 'json' : null
}

const namesIn = (functions: StageCatalog['functions']): readonly string[] =>
  [...functions].filter(([, called]) => called.some(isKnownToPostgrest)).map(([name]) => name)

/** It passes over functions whose arguments have no names, but those that take a whole body. */
const isKnownToPostgrest = ({ arguments: all }: CatalogFunction): boolean =>
  all.every(({ name }) => name !== '') || (all.length === 1 && WHOLE_TYPES.has(all[0]?.type.builtIn ?? ''))

const WHOLE_TYPES: ReadonlySet<string> = new Set(['json', 'jsonb', 'text', 'xml', 'bytea'])

const argumentsOf = ({ arguments: all }: CatalogFunction): string => listOf(all.map(({ name }) => name).toSorted())

const listOf = (names: readonly string[]): string => `(${names.join(', ')})`

function signatureOf({ name, arguments: all }: CatalogFunction, types: boolean): string {
  const one = (argument: FunctionArgument): string =>
    [argument.name, ...(types || argument.name === '' ? [argument.type.name] : [])].filter(Boolean).join(' ')
  return `${name}(${all.map(one).join(', ')})`
}
