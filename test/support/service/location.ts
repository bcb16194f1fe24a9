import type { TestDatabase } from '../database/database.ts'
import type { TestWharf } from './wharf.ts'

/** Where a test has its projects: everything that holds of projects is to hold in each. */
export interface Location {
  readonly name: string
  readonly isAttached: boolean
  /** Whether the login owns all that is there, so that an import is loaded beside it, and can be undone. */
  readonly isOwned: boolean
  /** Whether an import changes places object by object, since the schema is not the login's alone. */
  readonly staysInSchema: boolean
  /** @throws {ScriptRefused} where PostgreSQL does not take the script. */
  createProject(wharf: TestWharf, slug: string, options?: PlacedOptions): Promise<PlacedProject>
}

export interface PlacedOptions {
  /** What each of its stages holds; `$SCHEMA` in it is the name of the schema. */
  readonly script?: string
  /** What a superuser makes in `public` where it has a database of its own: Wharf makes none there. */
  readonly extensions?: readonly string[]
  /** Host and port by which the service reaches a database of its own, if not directly. */
  readonly via?: string
  /** Makes the database where it has one of its own; on the server that all tests share, if not told. */
  readonly createDatabase?: (() => Promise<TestDatabase>) | undefined
}

/** A project of a test, wherever its data is. */
export interface PlacedProject {
  readonly slug: string
  readonly stages: readonly { readonly slug: string; readonly schema: string }[]
  /** The schema of its stage `live`. */
  readonly schema: string
  /** The database that it is in, as a login sees it that may do in its stages whatever it likes. */
  readonly database: Pick<TestDatabase, 'url' | 'superuserUrl' | 'query'>
  /** Lets what is in its stages now belong to whom it belongs in such a location: an import makes everything the login's. */
  shareOut(): Promise<void>
  /** From now on, Wharf has a login there that may only read; nothing happens where projects have logins of Wharf's own. */
  becomeReadOnly(): Promise<void>
  /** Deletes or detaches it, with its database. */
  remove(): Promise<void>
}

/** PostgreSQL itself does not run the script of a project. */
export class ScriptRefused extends Error {
  override readonly name = 'ScriptRefused'
}
