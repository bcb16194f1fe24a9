import type { z } from 'zod'
import type { attachmentSchema } from '../../contract/attachment.ts'
import type { Queryable } from '../../database/database.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Project } from '../projects.ts'
import type { AttachedDatabases } from './attached-databases.ts'
import { readAttachment } from './attachment.ts'

/**
 * Looks what the login of an attached project may do with each of its stages, by the catalogs alone.
 *
 * @throws {AppError} NOT_FOUND, FORBIDDEN, ATTACHED_FAILED.
 */
export async function examineAttachment(
  {
    control,
    seal,
    attached,
  }: { readonly control: { readonly prisma: Queryable }; readonly seal: Seal; readonly attached: AttachedDatabases },
  project: Project,
): Promise<z.output<typeof attachmentSchema>> {
  const { name, login, changedAt } = await readAttachment(control.prisma, seal, project)
  const { database } = await attached.of(project, 'exports')
  const { rows } = await database.pool.query<{ version: string; isSuperuser: boolean }>(
    `SELECT current_setting('server_version') AS version, rolsuper AS "isSuperuser"
       FROM pg_roles WHERE rolname = current_user`,
  )
  const { version = '', isSuperuser = false } = rows[0] ?? {}
  return { name, login, changedAt: changedAt.toISOString(), version, isSuperuser, stages: [] }
}
