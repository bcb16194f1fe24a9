import { z } from 'zod'
import { formatBytes } from '../lib/units.ts'

/** How a job was asked to do its work, where it was. */
export const workFields = {
  jobs: z.number().optional(),
  maxBytesPerSecond: z.number().optional(),
  compression: z.string().optional(),
  allowIncomplete: z.boolean().optional(),
}

interface Work {
  readonly jobs?: number | undefined
  readonly maxBytesPerSecond?: number | undefined
  readonly compression?: string | undefined
  readonly allowIncomplete?: boolean | undefined
}

/** The same as fields; those that nobody asked for have no value. */
export const formatWork = ({
  jobs,
  maxBytesPerSecond,
  compression,
  allowIncomplete,
}: Work): readonly (readonly [name: string, value: string | undefined])[] => [
  ['sessions', jobs === undefined ? undefined : `at most ${jobs}`],
  ['rate', maxBytesPerSecond === undefined ? undefined : `at most ${formatBytes(maxBytesPerSecond)}/s`],
  ['compression', compression],
  ['missing rows', allowIncomplete ? 'accepted' : undefined],
]
