import type { ExportSelection } from '../../contract/export.ts'

/** The options of commands that choose what is exported. */
export interface SelectionOptions {
  readonly includeSystem?: boolean
  readonly stage?: readonly string[]
  readonly excludeTable?: readonly string[]
}

/** What of a project is exported; its slug comes with it. */
export const toSelection = ({
  includeSystem,
  stage,
  excludeTable,
}: SelectionOptions): Omit<ExportSelection, 'slug' | 'targetSlug'> => ({
  system: includeSystem ?? false,
  stages: stage,
  excludeTables: excludeTable,
})
