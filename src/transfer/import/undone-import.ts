import { z } from 'zod'

/** Written down with what is kept of a stage, so that it can be said which import an undo takes back. */
export const undoneImportSchema = z.object({
  /** The job that imported last; null where it was none, and where an earlier version of Wharf wrote this. */
  jobId: z.string().nullable().default(null),
  /** Whether that import is undone: what is kept is then what it had brought. */
  undone: z.boolean().default(false),
})

/** The import that an undo takes back, or puts back. */
export type UndoneImport = z.output<typeof undoneImportSchema>

/** What is to be written down once what is kept and what the stage has have changed places. */
export const exchanged = ({ jobId, undone }: UndoneImport): UndoneImport => ({ jobId, undone: !undone })
