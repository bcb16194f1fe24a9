/** What is exported; the body of the call has a list of these. */
export interface ExportSelection {
  readonly slug: string
  readonly system: boolean
  readonly stages?: readonly string[]
  readonly excludeTables?: readonly string[]
}

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
