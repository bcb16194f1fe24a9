import { lineFault } from '../archive-invalid.ts'
import type { ArchiveItem } from '../archive-item.ts'
import { createDefinitionCheck } from './check-definition.ts'
import { type SqlField, sqlFieldsOf } from './line-definitions.ts'

/**
 * Checks, of each line that comes by, that its texts of SQL are what the line is for and nothing else.
 *
 * @returns takes each line; undefined where there is nothing to wait for. @throws {AppError} ARCHIVE_INVALID with the line and the field.
 */
export function createSqlCheck(): (item: ArchiveItem) => Promise<void> | undefined {
  const check = createDefinitionCheck()
  const checkAll = async (line: number, fields: readonly SqlField[]): Promise<void> => {
    for (const { field, text, definition } of fields) {
      const fault = await check(text, definition)
      if (fault !== undefined) throw lineFault(line, `${field}: ${fault}`)
    }
  }
  return (item) => {
    if (item.kind === 'row') return undefined
    const fields = sqlFieldsOf(item)
    return fields.length === 0 ? undefined : checkAll(item.line, fields)
  }
}
