import { AppError } from '../../errors.ts'
import type { CatalogFunction, FunctionArgument, StageCatalog } from './catalog.ts'
import type { GivenArguments } from './function-call.ts'
import { POSTGREST } from './postgrest-codes.ts'
import { suggest } from './suggest.ts'

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
  if (only) throw ambiguous(name, found)
  throw unknownFunction(catalog, name, names, called)
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

function ambiguous(name: string, found: readonly CatalogFunction[]): AppError {
  const message = `"${name}" may be any of ${found.length} functions, which take arguments of these names: give their arguments other names`
  const faults = found.slice(0, MAX_SHOWN).map((each) => ({ detail: `could be ${signatureOf(each, true)}` }))
  return new AppError('AMBIGUOUS_FUNCTION', message, { faults })
}

function unknownFunction(
  { functions }: StageCatalog,
  name: string,
  names: readonly string[] | undefined,
  called: readonly CatalogFunction[],
): AppError {
  const shown = `"${name.slice(0, 200)}"`
  if (called.length === 0) {
    const message = `there is no function ${shown} in this stage that can be called${suggest(name, functions.keys())}`
    return new AppError('NOT_FOUND', message, { postgrestCode: POSTGREST.unknownFunction })
  }
  const given = names
    ? names.length === 0
      ? 'without arguments'
      : `with the arguments ${names
          .slice(0, MAX_SHOWN)
          .map((each) => `"${each.slice(0, 200)}"`)
          .join(', ')}`
    : 'with a single argument that has no name and is of the type of the body'
  const known = called.slice(0, MAX_SHOWN).map((each) => signatureOf(each, false))
  return new AppError(
    'NOT_FOUND',
    `there is no function ${shown} ${given} in this stage; there is ${known.join(', ')}`,
    {
      postgrestCode: POSTGREST.unknownFunction,
    },
  )
}

function signatureOf({ name, arguments: all }: CatalogFunction, types: boolean): string {
  const one = (argument: FunctionArgument): string =>
    [argument.name, ...(types || argument.name === '' ? [argument.type.name] : [])].filter(Boolean).join(' ')
  return `${name}(${all.map(one).join(', ')})`
}
