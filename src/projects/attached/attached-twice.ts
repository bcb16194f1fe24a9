import type { Transaction } from '../../database/database.ts'
import { conflict } from '../../errors.ts'
import type { Seal } from '../../lib/seal.ts'
import { identityOf } from './attachment.ts'

/**
 * Makes sure that no schema is a stage of two projects: what keeps imports into a stage apart is known by stage. Until
 * the transaction ends, no other one attaches anything.
 *
 * @param identity of the database; where it is not known, nothing can be said.
 * @throws {AppError} CONFLICT
 */
export async function assertOnlyOne(
  tx: Transaction,
  seal: Seal,
  {
    identity,
    projectId,
    schemas,
  }: { readonly identity: string | null; readonly projectId: string; readonly schemas: readonly string[] },
): Promise<void> {
  await lockAttachments(tx)
  if (identity === null) return
  const others = await tx.attachment.findMany({
    where: { projectId: { not: projectId } },
    include: { project: { include: { stages: true } } },
  })
  for (const { project, ...row } of others) {
    const shared = project.stages.find(({ schemaName }) => schemas.includes(schemaName))
    if (!shared || identityOf(seal, row) !== identity) continue
    throw conflict(
      `the schema "${shared.schemaName}" of this database is stage "${shared.slug}" of project "${project.slug}" already`,
    )
  }
}

/** Until the transaction ends, no other one attaches anything. */
export const lockAttachments = (tx: Transaction): Promise<unknown> =>
  tx.$queryRaw`SELECT 1 FROM control.lock WHERE name = 'attachments' FOR UPDATE`
