import type { Database, Transaction } from '../../../database/database.ts'
import { endSessionsNamed } from '../../../database/end-sessions.ts'
import { AppError } from '../../../errors.ts'
import { findProject } from '../../../projects/projects.ts'
import type { FindProjectDatabase } from '../../../projects/stage-database.ts'
import { type CommittedImport, findCommitted } from './committed-imports.ts'
import { takeDoubt } from './imports-in-doubt.ts'
import { recordExternal } from './record-external.ts'

interface FinishingServices {
  readonly control: Database
  readonly system: Database
  readonly projectDatabase: FindProjectDatabase
  readonly undoHours: number
}

/**
 * Finds out whether an earlier attempt of an import into a database that is not Wharf's was committed there, though its
 * process died before it was recorded here, and records it then.
 *
 * @param attempt `id` of the import; `sessionNames`: what its earlier attempts' sessions are called, which are ended; `target`:
 *   slug of the project.
 * @param succeed records the rest, in the same transaction.
 * @returns whether it was.
 * @throws {AppError} CONFLICT where nobody can say.
 */
export async function finishCommitted(
  { control, system, projectDatabase, undoHours }: FinishingServices,
  attempt: {
    readonly id: string
    readonly sessionNames: readonly string[]
    readonly target: string
    readonly tokenId: string | null
  },
  succeed: (tx: Transaction, committed: CommittedImport) => Promise<void>,
): Promise<boolean> {
  const { id, sessionNames, target, tokenId } = attempt
  const project = await findProject(control.prisma, target)
  if (project.location === 'shared') return false
  const { database } = await projectDatabase(project, 'imports')
  // As long as one is there, it may still commit.
  for (const name of sessionNames) await endSessionsNamed(database.prisma, name)
  const committed = await findCommitted(database, id)
  if (!committed) {
    if ((await takeDoubt(system.prisma, id)) === 'uncertain') throw nobodyKnows()
    return false
  }
  await system.prisma.$transaction(async (tx) => {
    if ((await takeDoubt(tx, id)) === 'committing')
      await recordExternal(tx, committed, { tokenId, undoHours, jobId: id })
    await succeed(tx, committed)
  })
  return true
}

const nobodyKnows = (): AppError =>
  new AppError(
    'CONFLICT',
    'an earlier attempt ended while it was being committed, and the login of the project has no place to write that down: ' +
      'whether the rows were replaced is not known; look at them before you import again',
  )
