/** Names that mean something of PostgreSQL's own, which is found before what a stage has. */
export interface BuiltInNames {
  /** Of functions, before their arguments. */
  readonly functions: ReadonlySet<string>
  /** Of types, tables and operators. */
  readonly others: ReadonlySet<string>
}

/** A schema of a dump, and what takes its place. */
export interface NameMap {
  readonly schema: string
  /** The schema that names get instead; undefined takes it away and leaves the rest to the search path. */
  readonly to: string | undefined
  /** The schemas of names that extensions have, wherever the dump has them. */
  readonly extensionNames?: ReadonlyMap<string, string>
  /** Of the names that a body has, those that mean something of PostgreSQL's own without a schema. */
  readonly builtInNames?: BuiltInNames
}

/** Bytes of a statement that are replaced. */
export interface Change {
  readonly start: number
  readonly end: number
  readonly text: string
}
