import type { Database, Transaction } from '../../database/database.ts'
import { type AppError, conflict } from '../../errors.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import type { Turns } from '../../projects/turns.ts'
import type { TableRows } from './count-rows.ts'
import type { SettlingServices } from './external/settle-doubts.ts'
import type { StageIdentity } from './shadow-schemas.ts'
import type { UndoneImport } from './undone-import.ts'

export interface Undone {
  /** When what was given back had been replaced. */
  readonly replacedAt: Date
  /** Rows by table that the stage has now. */
  readonly tables: readonly TableRows[]
}

export interface UndoServices extends SettlingServices {
  /** Lends connections that last as long as an undo. */
  readonly imports: Database
  /** The projects' turns: an undo counts as an import. */
  readonly importTurns: Turns
}

export interface UndoneStage extends StageIdentity, ProjectDatabase {
  readonly projectId: string
}

export interface UndoOptions {
  /** Also where the stage was written to since: those writes are then kept with what is replaced. */
  readonly force: boolean
  /** The token that asks for it; null for the root token. */
  readonly tokenId: string | null
  /** Looks again, in the transaction of the undo, whether it may be; throws where not, and nothing has changed then. */
  readonly authorise: (tx: Transaction) => Promise<unknown>
  /** Called in the transaction of the undo, with which import is undone now, or is not any more. */
  readonly onUndone: (tx: Transaction, now: UndoneImport) => Promise<void>
}

/** Says that nothing is kept of what was before. */
export const NOTHING_TO_UNDO =
  'there is nothing to undo: no import replaced this stage, or what it replaced is not kept any more, or the last one ' +
  'was loaded in place, as for stages that have what archives do not describe'

export const replacedMeanwhile = (): AppError => conflict('the stage was replaced in the meantime; try again')
