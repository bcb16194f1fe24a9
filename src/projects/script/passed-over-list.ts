import { rejected } from '../sql-rejected.ts'

/** Statements of one kind that were not run. */
export interface PassedOver {
  /** In SQL's words, e.g. `OWNER TO`. */
  readonly statement: string
  readonly count: number
  /** The line of the first one. */
  readonly line: number
}

/** Counts what is passed over, by kind. @param strict whether it is refused instead. */
export function createPassedOver(strict: boolean) {
  const kinds = new Map<string, PassedOver>()
  return {
    /** @throws {AppError} SQL_REJECTED where it is refused. */
    add(statement: string, line: number): void {
      if (strict) throw rejected(`${statement} says nothing about the stage, so it would be passed over`, { line })
      const { count = 0, line: firstLine = line } = kinds.get(statement) ?? {}
      kinds.set(statement, { statement, count: count + 1, line: firstLine })
    },
    list: (): readonly PassedOver[] => [...kinds.values()],
  }
}
