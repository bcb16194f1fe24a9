import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { ImportedProject } from '../import/import-call.ts'
import type { FileProgress } from '../terminal/progress.ts'
import type { Endpoint } from './endpoint.ts'
import type { StageLocation } from './same-database.ts'

/** Where the data of a transfer goes. */
export interface TransferTarget {
  /** For messages. */
  readonly name: string
  /** The project's slug. */
  readonly project: string
  /** Undefined where it is on no server. */
  readonly endpoint: Endpoint | undefined
  stages(): Promise<readonly string[]>
  /** Where they are; undefined where that is a database of Wharf's, or not known. */
  location(): Promise<StageLocation | undefined>
  /** Imports an archive as it comes. */
  send(bytes: AsyncIterable<Buffer>, sending: Sending): Promise<readonly ImportedProject[]>
}

export interface Sending extends RowsPolicy {
  readonly progress: FileProgress
  readonly signal: AbortSignal
}
