import type { ExportSelection } from '../../contract/export.ts'

/** The options of commands that choose it. */
export interface SelectionOptions {
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
}

export const toSelection = (
  slug: string,
  { includeSystem, stage, excludeTable }: SelectionOptions,
): ExportSelection => ({
  slug,
  system: includeSystem ?? false,
  ...(stage && { stages: stage }),
  ...(excludeTable && { excludeTables: excludeTable }),
})
