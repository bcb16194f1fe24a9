import type { z } from 'zod'
import type { attachmentSchema } from '../../contract/attachment.ts'
import { examineLogin, type LoginReport } from '../../database/address/examine-login.ts'
import type { CatalogQuery } from '../../database/address/login-rights.ts'
import type { ImportMode } from '../../database/address/login-verdicts.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { unreadableText } from '../../database/unreadable-text.ts'
import { isAppError } from '../../errors.ts'
import { readAttachedVersion } from '../../events/attached/attached-version.ts'
import type { Seal } from '../../lib/seal.ts'
import type { Project } from '../projects.ts'
import type { ProjectDatabase } from '../stage-database.ts'
import type { Stage } from '../stages.ts'
import type { AttachedDatabases } from './attached-databases.ts'
import { lostMeanwhile } from './attached-failure.ts'
import { readAttachment } from './attachment.ts'

/** How an import would come into a stage, and why not in a better way. @throws {AppError} CONFLICT where it cannot be looked at. */
export type ReadImportWay = (
  of: ProjectDatabase & { readonly stage: Stage },
) => Promise<{ readonly way: ImportMode; readonly reasons: readonly string[] }>

/**
 * Looks what the login of an attached project may do with each of its stages, by the catalogs alone.
 *
 * @param readImportWay as imports themselves find it out, where rights would allow one.
 * @throws {AppError} NOT_FOUND, FORBIDDEN, ATTACHED_FAILED; CONFLICT where a name cannot be read.
 */
export async function examineAttachment(
  {
    control,
    seal,
    attached,
  }: { readonly control: { readonly prisma: Queryable }; readonly seal: Seal; readonly attached: AttachedDatabases },
  project: Project,
  readImportWay: ReadImportWay,
): Promise<z.output<typeof attachmentSchema>> {
  const { name, login, server = null, changedAt } = await readAttachment(control.prisma, seal, project)
  const found = await attached.of(project, 'exports')
  const { database } = found
  const query: CatalogQuery = async (sql, parameters = []) => (await database.pool.query(sql, [...parameters])).rows
  const examine = async (stage: Stage): Promise<ExaminedStage> => {
    const logProblems = stage.loggedSince ? await problemsOf(database, stage) : []
    const report = await examineLogin(query, stage.schemaName)
    return { stage, report: await withImportWay(report, { ...found, stage }, readImportWay), logProblems }
  }
  const reports: ExaminedStage[] = []
  for (const stage of project.stages) {
    const examined = examine(stage).catch((error: unknown) => {
      throw (
        unreadableText(error, `a name in schema "${stage.schemaName}"`, 'rename it in the database') ??
        lostMeanwhile(name, error)
      )
    })
    reports.push(await examined)
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

/** Rights are not all that decides: what an archive cannot describe is loaded in place. */
async function withImportWay(
  report: LoginReport,
  of: Parameters<ReadImportWay>[0],
  readImportWay: ReadImportWay,
): Promise<LoginReport> {
  if (report.mayImport === 'no') return report
  if (!report.schemaExists) return { ...report, mayImport: 'no' }
  try {
    const { way, reasons } = await readImportWay(of)
    if (reasons.length > 0) return { ...report, mayImport: way, reasons: [...report.reasonsNotToExport, ...reasons] }
    const isOnlyByObject = way === 'object by object' && report.mayImport === 'beside'
    const owned = isOnlyByObject ? [`the schema ${of.stage.schemaName} belongs to ${report.schemaOwner}`] : []
    return { ...report, mayImport: way, reasons: [...report.reasons, ...owned] }
  } catch (error) {
    if (!isAppError(error, 'CONFLICT')) throw error
    return { ...report, reasons: [...report.reasons, error.message] }
  }
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
