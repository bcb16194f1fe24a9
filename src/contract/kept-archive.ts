import { z } from 'zod'
import { id } from './fields.ts'
import { notExportedSchema } from './not-exported.ts'

/** The archive of a project that goes to another server, from when it is kept here until the transfer has ended. */
export const keptArchive = z.strictObject({
  /** Its key in the artifact store. */
  key: id,
  bytes: z.int().min(1),
  notExported: notExportedSchema,
  /** The upload there, once it was begun. */
  upload: id.exactOptional(),
})

export type KeptArchive = z.output<typeof keptArchive>
