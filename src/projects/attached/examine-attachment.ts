import type { z } from 'zod'
import type { attachmentSchema } from '../../contract/attachment.ts'
import { examineLogin, type LoginReport } from '../../database/address/examine-login.ts'
import type { CatalogQuery } from '../../database/address/login-rights.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { readAttachedVersion } from '../../events/attached/attached-version.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Project } from '../projects.ts'
import type { Stage } from '../stages.ts'
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
  const { name, login, server = null, changedAt } = await readAttachment(control.prisma, seal, project)
  const { database } = await attached.of(project, 'exports')
  const query: CatalogQuery = async (sql, parameters = []) => (await database.pool.query(sql, [...parameters])).rows
  const reports: ExaminedStage[] = []
  for (const stage of project.stages) {
    const logProblems = stage.loggedSince ? await problemsOf(database, stage) : []
    reports.push({ stage, report: await examineLogin(query, stage.schemaName), logProblems })
  }
  const [{ report } = { report: { version: '', isSuperuser: false } }] = reports
  return {
    ...{ name, login, server, changedAt: changedAt.toISOString() },
    ...{ version: report.version, isSuperuser: report.isSuperuser },
    stages: reports.map(toStageBody),
  }
}

interface ExaminedStage {
  readonly stage: Stage
  readonly report: LoginReport
  readonly logProblems: readonly string[]
}

async function problemsOf({ pool }: Pick<Database, 'pool'>, { id }: Stage): Promise<readonly string[]> {
  const version = await readAttachedVersion(pool, id)
  return version?.coverage?.problems ?? ['the log is not there any more: make it again (stage:log)']
}

const toStageBody = ({ stage, report, logProblems }: ExaminedStage) => ({
  ...{ slug: stage.slug, schema: stage.schemaName },
  ...{ mayExport: report.mayExport, mayImport: report.mayImport },
  ...{ reasons: [...report.reasons], missing: [...report.missing] },
  ...{ logEvents: stage.loggedSince !== null, logProblems: [...logProblems] },
})
