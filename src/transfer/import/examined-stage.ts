import type { Database } from '../../database/database.ts'
import type { ImportServices } from './import-options.ts'
import { isUndoable, notReplacedOf } from './import-result.ts'
import { examineExtensions } from './target-extensions.ts'
import type { TargetStage } from './target-stage.ts'

/**
 * What an import would replace by what in a stage.
 *
 * @param system knows the extensions that there are. @param stages all that are imported with it.
 */
export async function toExaminedStage(
  { system, undoHours }: { readonly system: Database } & Pick<ImportServices, 'undoHours'>,
  target: TargetStage,
  stages: readonly TargetStage[],
) {
  const undoable = isUndoable(target, { undoHours, stages })
  return {
    slug: target.stage.slug,
    mode: target.mode,
    reasonsInPlace: [...target.reasonsInPlace],
    undoable,
    undoHours: undoable ? undoHours : 0,
    leftOut: [...target.leftOut],
    notReplaced: notReplacedOf(target),
    tables: target.archived.tables.map(({ name, rows }) => ({
      name,
      rowsNow: target.rowsNow.get(name) ?? null,
      rowsAfter: rows,
    })),
    extensions: await examineExtensions(system, target),
  }
}
