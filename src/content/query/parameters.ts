import { type Fault, invalidRequest } from '../../errors.ts'

/** Where a value of a statement came from. */
export interface ParameterUse {
  /** The query parameter, as error messages call it. */
  readonly source: string
  readonly column: string
  /** What that is. */
  readonly kind?: 'column' | 'argument'
  /** The values that it gave. */
  readonly values: readonly string[]
}

/** Collects the values of one statement while its text is being written, and whether its answer may be kept. */
export class Parameters {
  readonly values: unknown[]
  /**
   * Whether the statement shows what changes without an event of the stage's log, so that its answer is good for one
   * request. What writes SQL that reads an unseen relation, or calls a VOLATILE function, sets it.
   */
  unseen = false
  readonly uses: ParameterUse[] = []

  /** @param first values whose placeholders (`$1` and on) the text has already. */
  constructor(first: readonly unknown[] = []) {
    this.values = [...first]
  }

  /** @returns the SQL for a value, of the type text. */
  text(value: string): string {
    if (value.includes('\0')) throw invalidRequest('a NUL character can be neither stored nor looked for')
    this.values.push(value)
    return `$${this.values.length}::pg_catalog.text`
  }

  /** @returns the SQL for a value whose type PostgreSQL finds out, from the operator that is used with it. */
  untyped(value: string, use: ParameterUse): string {
    this.uses.push(use)
    return this.text(value).replace('::pg_catalog.text', '')
  }

  /** @returns the SQL for a value of the type that `typeSql` names. */
  of(value: string, typeSql: string, use?: ParameterUse): string {
    if (use) this.uses.push(use)
    return `${this.text(value)}::${typeSql}`
  }

  /** @returns the SQL for bytes. */
  bytes(value: Uint8Array): string {
    this.values.push(value)
    return `$${this.values.length}::pg_catalog.bytea`
  }

  /** Where a value came from that the statement was refused for. */
  locate(value: string): readonly Fault[] {
    const uses = this.uses.filter(({ values }) => values.some((each) => each === value))
    return uses.map(({ source, column, kind = 'column' }) => ({
      detail: `${source}: "${value}" is not a value of the ${kind} "${column}"`,
    }))
  }

  /** @returns the SQL for a whole number. */
  integer(value: number): string {
    return this.of(String(value), 'pg_catalog.int8')
  }
}

/** An array of values in PostgreSQL's own notation, every element quoted. */
export const arrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
