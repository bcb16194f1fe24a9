import { z } from 'zod'
import type { Location } from '../service/location.ts'
import { comparableLines } from './import.ts'

const stageLineSchema = z.object({
  stage: z.object({ notExported: z.array(z.object({ kind: z.string(), name: z.string() })).default([]) }),
})

const isStageLine = (line: string): boolean => line.startsWith('{"stage":')

/** The lines of an archive that a copy in such a place has too: where things have several owners, it says whose they are. */
export const placedLines = ({ isOwned }: Location, archive: string): string[] =>
  comparableLines(archive).filter((line) => isOwned || !isStageLine(line))

/** What an archive says it lacks, but for owners in a location where things have several. */
export const lackedBy = ({ isOwned }: Location, archive: string): readonly { kind: string; name: string }[] =>
  archive
    .split('\n')
    .filter(isStageLine)
    .flatMap((line) => stageLineSchema.parse(JSON.parse(line)).stage.notExported)
    .filter(({ kind }) => isOwned || kind !== 'owner')
