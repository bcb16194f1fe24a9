import { type ArchiveWriter, createArchiveWriter } from '../../archive/archive-writer.ts'
import { createJsonCounter } from '../../archive/json-counter.ts'
import { createStructureLimit, STRUCTURE_LIMITS, type StructureLimits } from '../../archive/structure-limit.ts'
import { conflict } from '../../errors.ts'

/**
 * Creates the writer of an archive that is no larger than what is read of one: it would be too late to learn that at a
 * restore. Its `open` throws an AppError, CONFLICT, for the first line that is too many.
 */
export function createReadableWriter(limits: StructureLimits = STRUCTURE_LIMITS): ArchiveWriter {
  const writer = createArchiveWriter()
  const exceeds = createStructureLimit(limits)
  return {
    ...writer,
    open(kind, content) {
      const bytes = writer.open(kind, content)
      const counter = createJsonCounter()
      const excess = counter.count(bytes) ?? exceeds(kind, { bytes: bytes.length, values: counter.values })
      if (excess === undefined) return bytes
      throw conflict(
        `one archive cannot hold all that was to be exported: a line of the kind "${kind}" ${excess}; export fewer ` +
          'projects, or stages, at a time',
      )
    },
  }
}
