import { z } from 'zod'
import { formatBytes } from '../lib/units.ts'

/** How a job was asked to do its work, where it was. */
export const workSchema = z.object({
  jobs: z.number().optional(),
  maxBytesPerSecond: z.number().optional(),
  compression: z.string().optional(),
  allowIncomplete: z.boolean().optional(),
})

/** The same as fields; those that nobody asked for have no value. */
export const formatWork = ({
  jobs,
  maxBytesPerSecond,
  compression,
  allowIncomplete,
}: Readonly<z.output<typeof workSchema>>): readonly (readonly [name: string, value: string | undefined])[] => [
  ['sessions', jobs === undefined ? undefined : `at most ${jobs}`],
  ['rate', maxBytesPerSecond === undefined ? undefined : `at most ${formatBytes(maxBytesPerSecond)}/s`],
  ['compression', compression],
  ['missing rows', allowIncomplete ? 'accepted' : undefined],
]
