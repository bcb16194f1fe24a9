import type { Database } from '../database/database.ts'
import type { Logger } from '../logger.ts'

/**
 * Makes sure that every table of every stage keeps its log: those of stages that are older than the log, and those that
 * were made, or whose triggers were disabled, by plain SQL. One query where nothing is missing.
 *
 * @param system as Wharf's own login, which has what the projects' logins have. A table that somebody goes on writing
 *   to is left for the next time.
 */
export async function logStages({ prisma }: Pick<Database, 'prisma'>, logger: Logger): Promise<void> {
  const stages = await prisma.$queryRaw<{ schemaName: string }[]>`
    SELECT schema_name AS "schemaName" FROM system.stage_state
    WHERE EXISTS (SELECT FROM wharf.unlogged_tables(schema_name))`
  for (const { schemaName } of stages) {
    try {
      await prisma.$transaction(async (tx) => {
        await tx.$executeRawUnsafe(`SET LOCAL lock_timeout = '2s'`)
        await tx.$queryRaw`SELECT wharf.log_tables(${schemaName})::text`
      })
    } catch (error) {
      logger.warn({ err: error, schemaName }, 'a stage keeps no log yet of what is written to it')
    }
  }
}
