import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { added } from './from-server.ts'

/** What archives lack, since no archive can hold it; and rights that were not asked for. */
export const notExportedSchema = z.array(
  z.object({
    project: z.string().exactOptional().meta({ description: 'Its slug, where the archive has several projects.' }),
    stage: z.string(),
    kind: z.string(),
    name: z.string(),
    detail: z.string().exactOptional(),
    rows: z.boolean().exactOptional().meta({ description: '`true` where rows are missing for lack of it.' }),
  }),
)

/** Something of a stage that no archive can hold, e.g. a publication. */
export type NotExported = ReadonlyDeep<z.output<typeof notExportedSchema>>[number]

/** What answers say of an archive, and of what was made from one. */
export const completenessFields = {
  complete: added(
    z
      .boolean()
      .nullable()
      .meta({
        description:
          'Whether the archive has all that its stages had, but for tables that were excluded; null where that is not ' +
          'known, since an earlier version wrote it.',
      }),
    null,
  ),
  notExported: added(notExportedSchema, []),
}
