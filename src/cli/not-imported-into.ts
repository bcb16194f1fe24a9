import { type AppError, wrongUse } from '../errors.ts'

/** Where the target of a command is the address of a database, instead of a project. */
export const notImportedInto = (): AppError =>
  wrongUse(
    'nothing is imported into databases that are not Wharf’s: name a project of a server, wharf://<project>:<TOKEN>@<host>[:port], or "." for the local one',
  )
