import { type AppError, wrongUse } from '../errors.ts'

/** Where the target of a command is the address of a database, instead of a project. */
export const notImportedInto = (): AppError =>
  wrongUse(
    'the address of a database cannot be the target of a transfer: export to a file (data:export), and import that there (data:import)',
  )
