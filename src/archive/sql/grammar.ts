import { createRequire } from 'node:module'
import { dirname, sep } from 'node:path'

/** A node of a parse tree, or any other JSON of it. */
export type Tree = { readonly [key: string]: unknown }

/** PostgreSQL's own grammar, as WebAssembly. */
export interface Grammar {
  /**
   * Parses SQL that was looked over before (`scan-sql.ts`).
   *
   * @returns the statements' trees, as PostgreSQL's parser has them; undefined for what is no SQL.
   */
  parse(sql: string): readonly Tree[] | undefined
}

type Library = typeof import('libpg-query')

const require = createRequire(import.meta.url)
let loading: Promise<Library> | undefined

/** Loads the grammar where it is not there yet: it takes a tenth of a second, and 20 MB. */
export async function loadGrammar(): Promise<Grammar> {
  loading ??= instantiate()
  const library = await loading
  return { parse: (sql) => parseWith(library, sql) }
}

/** A new instance: what an earlier one left behind when it broke off is not in it. */
async function instantiate(): Promise<Library> {
  const folder = dirname(require.resolve('libpg-query')) + sep
  for (const file of Object.keys(require.cache)) if (file.startsWith(folder)) delete require.cache[file]
  const library: Library = require('libpg-query')
  await library.loadModule()
  return library
}

function parseWith(library: Library, sql: string): readonly Tree[] | undefined {
  try {
    return (library.parseSync(sql).stmts ?? []).map(({ stmt }) => asTree(stmt))
  } catch (error) {
    // PostgreSQL's error is caught by PostgreSQL; anything else breaks off in the middle of its memory.
    if (!library.hasSqlDetails(error)) loading = undefined
    return undefined
  }
}

/** The tree that a value is; an empty one for what is none. */
export const asTree = (value: unknown): Tree => (isTree(value) ? value : NO_TREE)

const NO_TREE: Tree = {}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What a path of keys leads to in a tree, as a tree. */
export const treeAt = (tree: Tree, ...path: readonly string[]): Tree =>
  path.reduce((inner, key) => asTree(inner[key]), tree)

/** The list that a value is; an empty one for what is none. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
