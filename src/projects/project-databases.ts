import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import type { Queryable } from '../database/database.ts'
import type { LoginDatabases } from '../database/login-databases.ts'
import type { Seal } from '../lib/seal.ts'
import type { AttachedDatabases } from './attached/attached-databases.ts'
import { readExtensionSchemas } from './attached/extension-schemas.ts'
import { projectLogin } from './projects.ts'
import type { FindProjectDatabase } from './stage-database.ts'

/** Finds projects' databases: on Wharf's server each has a login of its own, and those that are attached are elsewhere. */
export function createProjectDatabases(options: {
  readonly control: Queryable
  readonly seal: Seal
  readonly logins: LoginDatabases
  readonly attached: AttachedDatabases
}): FindProjectDatabase {
  const { control, seal, logins, attached } = options
  return async (project, use) => {
    const login = await projectLogin(control, seal, project)
    if (!login) return attached.of(project, use)
    const database = logins.of(login, use)
    const isOwn = login.ownDatabase === undefined
    // In a database of its own, the project may make them wherever it likes.
    const extensionSchemas = isOwn ? [] : await readExtensionSchemas(database.pool)
    return {
      ...{ database, login: login.name, isOwn, makesExtensions: true },
      extensionSchemas: [...new Set([EXTENSIONS_SCHEMA, ...extensionSchemas])],
    }
  }
}
