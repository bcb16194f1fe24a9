import { lineFault } from '../archive-invalid.ts'
import type { ArchiveItem } from '../archive-item.ts'
import { createDefinitionCheck } from './check-definition.ts'
import { sqlFieldsOf } from './line-definitions.ts'

/**
 * Checks, of each line that comes by, that its texts of SQL are what the line is for and nothing else.
 *
 * @returns takes each line. @throws {AppError} ARCHIVE_INVALID with the line and the field.
 */
export function createSqlCheck(): (item: ArchiveItem) => Promise<void> {
  const check = createDefinitionCheck()
  return async (item) => {
    if (item.kind === 'row') return
    for (const { field, text, definition } of sqlFieldsOf(item)) {
      const fault = await check(text, definition)
      if (fault !== undefined) throw lineFault(item.line, `${field}: ${fault}`)
    }
  }
}
