import type pg from 'pg'
import type { AllowedHosts } from '../../allowed-hosts.ts'
import type { Database, OpenDatabase, Queryable } from '../../database/database.ts'
import { keepDatabases } from '../../database/kept-databases.ts'
import { LOGIN_USES, type LoginUse, MAX_CONNECTIONS } from '../../database/login-databases.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Project } from '../projects.ts'
import type { ProjectDatabase } from '../stage-database.ts'
import { connectionOf } from './attached-connection.ts'
import { attachedFailure } from './attached-failure.ts'
import { readAttachment } from './attachment.ts'
import { readExtensionSchemas } from './extension-schemas.ts'

export interface AttachedDatabases {
  /**
   * The database of an attached project, as its login sees it. Opened when first asked for and shared from then on.
   *
   * @throws {AppError} NOT_FOUND where it was detached since it was found; FORBIDDEN where its host may not be reached any
   *   more; ATTACHED_FAILED where it cannot be reached.
   */
  of(project: Pick<Project, 'id' | 'slug'>, use: LoginUse): Promise<ProjectDatabase>
  /** The pools that are open for a use, of whichever project. */
  pools(use: LoginUse): readonly pg.Pool[]
  /** Gives up a project that was detached. Connections that are in use end when their users have given them back. */
  forget(projectId: string): void
  closeAll(): Promise<void>
}

/**
 * Keeps pools for databases that are not Wharf's, apart from those of logins of its own: a login there may have the name
 * of one here. A pool is that of a project and of one address; after another was given, it is given up.
 */
export function createAttachedDatabases(options: {
  readonly control: Queryable
  readonly seal: Seal
  readonly open: OpenDatabase
  readonly allowedHosts: AllowedHosts
}): AttachedDatabases {
  const { control, seal, open, allowedHosts } = options
  const kept = keepDatabases(LOGIN_USES)
  /** Under which key the pools of a project are kept. */
  const keys = new Map<string, string>()

  const keyOf = (projectId: string, changedAt: Date): string => {
    const key = `${projectId} ${changedAt.getTime()}`
    const earlier = keys.get(projectId)
    if (earlier !== undefined && earlier !== key) kept.forget(earlier)
    keys.set(projectId, key)
    return key
  }

  /** Those who ask at the same time share one look. */
  const looks = new WeakMap<Database, Promise<readonly string[]>>()
  const extensionSchemasOf = (database: Database): Promise<readonly string[]> => {
    const look = looks.get(database) ?? readExtensionSchemas(database.pool).finally(() => looks.delete(database))
    looks.set(database, look)
    return look
  }

  return {
    async of(project, use) {
      const attachment = await readAttachment(control, seal, project)
      const connection = await connectionOf(attachment, allowedHosts)
      const database = kept.of(keyOf(project.id, attachment.changedAt), use, () =>
        open(connection, {
          maxConnections: MAX_CONNECTIONS[use],
          session: 'attached',
          givesByteText: use === 'exports' || use === 'helping',
        }),
      )
      try {
        const extensionSchemas = await extensionSchemasOf(database)
        return { database, login: attachment.login, isOwn: false, makesExtensions: false, extensionSchemas }
      } catch (error) {
        throw attachedFailure(attachment.name, error)
      }
    },
    pools: kept.pools,
    forget(projectId) {
      const key = keys.get(projectId)
      keys.delete(projectId)
      if (key !== undefined) kept.forget(key)
    },
    closeAll: kept.closeAll,
  }
}
