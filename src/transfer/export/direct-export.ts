import type { ExportSelection } from '../../contract/export.ts'
import type { SnapshotSource } from './locked-source.ts'
import {
  declareAll,
  type ExportOptions,
  type Opening,
  openExport,
  type UseExport,
  type Writing,
} from './open-export.ts'
import { withSnapshots } from './snapshot.ts'

/**
 * Opens an export of stages in a database that Wharf knows nothing of.
 *
 * @throws {AppError} as `withExport`.
 * @param selection without a system section: there is none.
 */
export const withDirectExport = <T>(
  writing: Writing,
  source: SnapshotSource,
  selection: ExportSelection & { readonly system: false },
  use: UseExport<T>,
  options: ExportOptions = {},
): Promise<T> => {
  const findRoles = (): Promise<never> => Promise.reject(new Error('the database is not one of Wharf'))
  const open = (opening: Opening): Promise<T> =>
    withSnapshots(
      [source],
      async (read) =>
        opening.hand(use, { projects: await declareAll(findRoles, read, [selection]), records: undefined }),
      opening,
    )
  return openExport(writing, [source.database], open, options)
}
