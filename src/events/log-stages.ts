import type { Database } from '../database/database.ts'
import type { Logger } from '../logger.ts'
import { LOG_TABLES } from './statements.ts'

export interface LogServices {
  readonly control: Pick<Database, 'prisma'>
  readonly system: Pick<Database, 'prisma'>
  /** Finds a project's database, as the project's own login sees it. */
  readonly projectDatabase: (
    project: { readonly id: string; readonly slug: string },
    use: 'imports',
  ) => Promise<{ readonly database: Database }>
  readonly logger: Logger
}

/**
 * Makes sure that every table of every stage keeps its log: those of stages that are older than the log, and those that
 * were made, or whose triggers were changed, by plain SQL. One query where nothing is missing.
 *
 * The project's own login makes what is missing. The stage gets a new reference with it, since what was written until
 * then is in no log. A table that somebody goes on writing to is left for the next time.
 */
export async function logStages({ control, system, projectDatabase, logger }: LogServices): Promise<void> {
  const stages = await system.prisma.$queryRaw<{ stageId: string; schemaName: string }[]>`
    SELECT stage_id::text AS "stageId", schema_name AS "schemaName" FROM system.stage_state
    WHERE EXISTS (SELECT FROM wharf.unlogged_tables(schema_name))`
  for (const { stageId, schemaName } of stages) {
    try {
      const where = { id: stageId }
      const { project } = await control.prisma.stage.findUniqueOrThrow({ where, include: { project: true } })
      const { database } = await projectDatabase(project, 'imports')
      await logTables(database, schemaName)
    } catch (error) {
      logger.warn({ err: error, schemaName }, 'a stage keeps no log yet of what is written to it')
    }
  }
}

async function logTables({ prisma }: Database, schemaName: string): Promise<void> {
  await prisma.$transaction(async (tx) => {
    // The login's own settings may say anything else.
    await tx.$executeRawUnsafe('SET TRANSACTION READ WRITE')
    await tx.$executeRawUnsafe(`SET LOCAL statement_timeout = '60s'`)
    await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`)
    await tx.$queryRawUnsafe(LOG_TABLES, schemaName)
  })
}
