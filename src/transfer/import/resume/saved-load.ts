import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { TargetStage } from '../target-stage.ts'
import { outcomeOf } from '../target-stage.ts'

const count = z.int().min(0)

const partEnd = z.object({ parts: count, rows: count, bytes: count, crc32: count })

const tableSchema = z.object({
  name: z.string(),
  /** How many of its rows, and of its parts, are there. */
  rows: count,
  parts: count,
  isWhole: z.boolean(),
  /** Where the rows end, of a table that is not whole: in which of its COPYs, and where there. */
  copy: count,
  end: partEnd.nullable(),
})

const loadSchema = z.object({
  tables: z.array(tableSchema),
  /** The tables that have their keys and indexes. */
  finished: z.array(z.string()),
  /** The ids of the transactions that made and loaded all of it, as `xmin` has them. */
  ids: z.array(z.string()),
  /** What the structure was then. */
  structureState: z.string(),
  /** Of a stage that is loaded and built, and only has to take its place; null before. */
  whole: z.object({ rows: z.array(z.tuple([z.string(), count])), transactions: z.array(z.string()) }).nullable(),
})

/** How far a table has been loaded. */
export type SavedTable = z.output<typeof tableSchema>

/** How far a stage has been loaded, when that was committed. */
export type SavedLoad = z.output<typeof loadSchema>

/**
 * What is written down of it, before the commit. The rows are the project's, and this is not, so that no SQL of the project can
 * forge it; the id says whether the transaction was committed.
 */
export const recordSchema = z.object({
  /** What was loaded: which archive, into which structure. */
  loads: z.string(),
  /** What holds where the transaction was not committed. */
  before: loadSchema.nullable(),
  /** The whole id of the transaction (`xid8`). */
  transaction: z.string(),
  after: loadSchema,
})

export type SaveRecord = z.output<typeof recordSchema>

/** Raised when what is loaded, or written down, changes from one version to the next. */
const FORMAT = 1

/** Tells whether what an earlier attempt has loaded is what would be loaded now. @param archive tells archives apart. */
export const loadsOf = (archive: string, target: TargetStage): string =>
  createHash('sha256')
    .update(JSON.stringify([FORMAT, archive, target.archived.slug, ...outcomeOf(target)]))
    .digest('hex')
