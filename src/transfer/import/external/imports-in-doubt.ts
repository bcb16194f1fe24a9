import type { Database, Queryable } from '../../../database/database.ts'

/**
 * What is known here of an import that was about to be committed in a database that is not Wharf's: `committing`, where
 * its transaction writes down there that it was; `recorded`, where that was found there, and all is recorded here but the end
 * of its job; `uncertain`, where it has no place for that, and nobody can say.
 *
 * `jobs/in-doubt.ts` reads it: such a job does not end before it has been looked there.
 */
type Doubt = 'committing' | 'recorded' | 'uncertain'

/** An import that is about to be committed. */
interface Committing {
  readonly id: string
  readonly stageId: string
  /** What the sessions are called that commit it. */
  readonly sessionName: string
}

/** Notes that an import is about to be committed, until that is recorded, or is known not to have happened. */
export const noteOfImport = (system: Database, { id, stageId, sessionName }: Committing) => ({
  /** In a transaction of its own. */
  async write(kind: Exclude<Doubt, 'recorded'>): Promise<void> {
    const note = { kind, replacedBy: { sessionName } }
    const schemaName = nameOf(id)
    const create = { schemaName, stageId, ...note }
    await system.prisma.shadowSchema.upsert({ where: { schemaName }, create, update: note })
  },
  async remove(database: Queryable): Promise<void> {
    await database.shadowSchema.deleteMany({ where: { schemaName: nameOf(id) } })
  },
})

/** Removes what is noted of an import. @returns what that was; undefined where there was nothing. */
export async function takeDoubt(database: Queryable, id: string): Promise<Doubt | undefined> {
  const [note] = await database.$queryRaw<{ kind: Doubt }[]>`
    DELETE FROM system.side_schema WHERE schema_name = ${nameOf(id)} RETURNING kind`
  return note?.kind
}

/** An import of which is noted that it was being committed. */
export interface ImportInDoubt extends Omit<Committing, 'sessionName'> {
  readonly sessionName: string | null
  /** Whether a job has still to be ended for it. */
  readonly isAwaited: boolean
}

/** @param stageIds of stages; of all without. */
export const listImportsInDoubt = (system: Database, stageIds?: readonly string[]): Promise<readonly ImportInDoubt[]> =>
  system.prisma.$queryRaw`
    SELECT id, stage_id::text AS "stageId", replaced_by->>'sessionName' AS "sessionName",
           EXISTS (SELECT FROM control.job WHERE job.id::text = noted.id AND status IN ('queued', 'running')) AS "isAwaited"
      FROM (SELECT *, substr(schema_name, ${PREFIX.length + 1}::int) AS id FROM system.side_schema WHERE kind = 'committing') noted
     WHERE ${stageIds ?? null}::text[] IS NULL OR stage_id::text = ANY (${stageIds ?? null}::text[])`

/** Notes that all is recorded here but the end of the job. */
export const noteRecorded = (tx: Queryable, { id, stageId }: Pick<Committing, 'id' | 'stageId'>): Promise<unknown> =>
  tx.shadowSchema.create({ data: { schemaName: nameOf(id), stageId, kind: 'recorded' } })

/** Forgets what is noted for jobs that have ended: nobody asks for it any more. */
export const forgetDoubts = (system: Database): Promise<unknown> =>
  system.prisma.$executeRaw`
    DELETE FROM system.side_schema
     WHERE kind IN ('recorded', 'uncertain')
       AND NOT EXISTS (SELECT FROM control.job WHERE schema_name = ${PREFIX} || job.id AND status IN ('queued', 'running'))`

const PREFIX = 'import '

const nameOf = (id: string): string => `${PREFIX}${id}`
