import type { RowsPolicy } from '../../archive/assert-rows.ts'
import type { ImportedProject } from '../../contract/import.ts'
import type { Database, Transaction } from '../../database/database.ts'
import type { Logger } from '../../logger.ts'
import type { Caller } from '../../projects/access.ts'
import type { FindProjectDatabase } from '../../projects/stage-database.ts'
import type { Turns } from '../../projects/turns.ts'
import type { HelperRoom } from '../export/helper-room.ts'
import type { LineLimits } from '../export/line-limits.ts'
import type { ArchiveProject } from './archive-lists.ts'
import type { Operation } from './external/committed-imports.ts'
import type { SessionOptions } from './loading-session.ts'
import type { ResumableAttempt } from './resume/stage-saves.ts'

export interface ImportServices {
  readonly control: Database
  readonly system: Database
  /** Lends connections that last as long as an import. */
  readonly imports: Database
  readonly projectDatabase: FindProjectDatabase
  /** The projects' turns: how many imports each may have under way here. */
  readonly importTurns: Turns
  /** How many event logs may be loaded here at once. An import that waits holds a connection of `imports` already. */
  readonly eventLoadTurns: Turns
  /** How many sessions may help imports to load. */
  readonly helperRoom: HelperRoom
  /** Folder for spooled files. */
  readonly spoolFolder: string
  readonly config: LineLimits & {
    /** How many bytes stay free on its disk. */
    readonly spoolReserveBytes: number
    /** The extensions that archives may have made; undefined for those that PostgreSQL trusts. */
    readonly extensions?: readonly string[] | undefined
  }
  readonly logger: Logger
  /** How long what an import replaced is kept, in hours; 0 keeps nothing. */
  readonly undoHours: number
}

/**
 * Lends the bytes of an archive, plain or gzip, to be read once. It is done when what they come from is closed: nothing is
 * locked before.
 */
export type ArchiveSource = (use: (bytes: AsyncIterable<Buffer>) => Promise<void>) => Promise<void>

/** How far the loading of a stage has come. */
export interface LoadedRows {
  readonly project: string
  readonly stage: string
  readonly table: string
  /** Of the stage, so far; less than before where it is loaded again. */
  readonly rows: number
  /** How many parts of tables of the stage have been loaded, and how many an earlier attempt had loaded. */
  readonly parts: number
  readonly partsBefore: number
}

export interface ImportOptions extends SessionOptions, RowsPolicy {
  /**
   * Where the projects of an archive go.
   *
   * @param projects those that have come.
   * @returns slugs, in their order.
   */
  readonly targetsOf: (projects: readonly ArchiveProject[]) => readonly string[]
  /** The token that asked for it; null for the root token. */
  readonly tokenId: string | null
  /** By which it is known, in a database that is not Wharf's, what became of it; one of its own where it is missing. */
  readonly operation?: Operation
  /** What its result says besides what went where, to be written down there with it. */
  readonly restOfResult?: (projects: readonly ArchiveProject[]) => Readonly<Record<string, unknown>>
  /**
   * Throws where what has come so far must not go on; asked at the beginning of each project, and of each stage, before
   * its structure and its rows.
   */
  readonly admit?: (projects: readonly ArchiveProject[]) => void | Promise<void>
  /**
   * Looks again, in the transaction that makes the import visible and before it changes anything, whether the import may
   * be; keeps it so until the transaction ends.
   *
   * @returns who asked for it, as they are now.
   * @throws {AppError} where it may not be. Nothing has changed then.
   */
  readonly authorise: (
    tx: Transaction,
    projects: readonly ArchiveProject[],
    targets: readonly string[],
  ) => Promise<Caller>
  /** The attempt at a job, which goes on from what earlier attempts have loaded; without, all is loaded. */
  readonly attempt?: ResumableAttempt | undefined
  /** Imports an archive whose rows were edited: counts and sums are not compared, everything else is. */
  readonly allowEdited?: boolean
  /** How many sessions load one stage side by side, at most; `usualLoads` where it is missing. */
  readonly jobs?: number | undefined
  /** Called when the archive has arrived, and is known to be whole. */
  readonly onReceived?: (projects: readonly ArchiveProject[]) => void
  /** Called as rows are loaded, also while the archive arrives. */
  readonly onRows?: (loaded: LoadedRows) => void
  /** For how long may be waited for more of the archive while its stages are loaded, in milliseconds. */
  readonly maxWaitMs?: number
  /**
   * Called at the end of the transaction that makes the import visible, as the last thing that can still stop it: what
   * it writes there is there just if the import is. Where it throws, nothing has changed.
   */
  readonly beforeCommit?: (
    tx: Transaction,
    imported: readonly ImportedProject[],
    projects: readonly ArchiveProject[],
  ) => Promise<void>
}
