import { z } from 'zod'
import { id } from './fields.ts'

/** An archive that another server has made for a transfer, and keeps for it. */
export const sourceArchive = z.strictObject({
  /** Of the job there that made it. */
  jobId: id,
  /** 64 lower-case hexadecimal digits. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().min(1),
})

export type SourceArchive = z.output<typeof sourceArchive>
