import type { Database, Queryable } from '../../../database/database.ts'
import type { Operation } from './committed-imports.ts'

/**
 * Notes, where nothing can be written down in the database of a stage, that an import is about to be committed there: if
 * its process dies then, nobody can say whether it was, and nobody is to do it again unasked.
 */
export const uncertainty = (system: Database, { id }: Pick<Operation, 'id'>, stageId: string) => ({
  /** In a transaction of its own. */
  async note(): Promise<void> {
    await system.prisma.shadowSchema.create({ data: { schemaName: nameOf(id), stageId, kind: 'uncertain' } })
  },
  async forget(database: Queryable): Promise<void> {
    await database.shadowSchema.deleteMany({ where: { schemaName: nameOf(id) } })
  },
})

/** Whether that is noted of an import. It is said once. */
export async function takeUncertainty({ prisma }: Database, id: string): Promise<boolean> {
  const { count } = await prisma.shadowSchema.deleteMany({ where: { schemaName: nameOf(id) } })
  return count > 0
}

const nameOf = (id: string): string => `import ${id}`
