import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { count, slug, timeText } from './fields.ts'
import { added } from './from-server.ts'
import { completenessFields } from './not-exported.ts'
import { PERMISSIONS } from './role.ts'

const undoable = added(
  z.boolean().meta({
    description:
      'Whether what is replaced is kept, so that `undo` can bring it back. It is not where the stage is loaded in place, ' +
      'or where the operator has turned that off.',
  }),
  true,
)

const leftOut = added(
  z.array(z.object({ kind: z.enum(['grant', 'policy']), name: z.string(), detail: z.string() })).meta({
    description:
      'Rights and policies of the archive that the stage does not get, for instance since their role does not exist there.',
  }),
  [],
)

const notReplaced = added(
  z.array(z.object({ kind: z.string(), name: z.string(), detail: z.string().exactOptional() })).meta({
    description:
      'What keeps its rows in a stage that is loaded in place, since no archive can hold them: for instance partitions ' +
      'in another schema.',
  }),
  [],
)

const undoneAt = timeText
  .exactOptional()
  .meta({ description: 'In the result of a job: when that was undone. Missing where it was not, or is put back.' })

export const importedStage = z.object({ slug, tables: count, rows: count, undoable, leftOut, notReplaced, undoneAt })

const examinedTable = z.object({
  name: z.string(),
  rowsNow: count
    .nullable()
    .meta({ description: "As the project's own login sees them; null where the table would be created." }),
  rowsAfter: count,
})

const examinedExtension = z.object({
  name: z.string(),
  version: z.string().meta({ description: 'Where the archive was made. Another one is no reason to refuse it.' }),
  versionNow: z.string().nullable().meta({ description: 'null where it would be made, for all projects.' }),
})

const examinedStage = z.object({
  slug,
  mode: z.enum(['build', 'swap', 'in place']).meta({
    description:
      '`build`: the stage is empty and would be built from the archive. `swap`: the rows would be loaded beside, and ' +
      'then replace the existing ones. `in place`: the stage has things that an archive does not describe, so its ' +
      'tables would be emptied and loaded where they are.',
  }),
  reasonsInPlace: added(
    z
      .array(z.string())
      .meta({ description: 'Why it would be loaded in place: what depends on it elsewhere, for instance.' }),
    [],
  ),
  undoable,
  undoHours: added(
    count.meta({ description: 'For how many hours what would be replaced is kept; 0 where it is not.' }),
    0,
  ),
  leftOut,
  notReplaced,
  tables: z.array(examinedTable),
  extensions: added(
    z.array(examinedExtension).meta({ description: 'Those that a stage which is built from the archive needs.' }),
    [],
  ),
})

const permissions = z.array(z.enum(PERMISSIONS))

const roleLeftOut = z.object({
  role: z.string(),
  notGiven: permissions.meta({ description: 'Permissions that the role has in the archive, and does not get.' }),
  notTaken: permissions.meta({
    description: 'Permissions that the role has in the target and not in the archive, and keeps.',
  }),
})

/** @param stage what is said of each stage. */
const projectWith = <S extends z.ZodType>(stage: S) =>
  z.object({
    slug: slug.meta({ description: 'Where the data came from.' }),
    targetSlug: slug.meta({ description: 'Where it went.' }),
    roles: added(
      count.nullable().meta({
        description:
          'How many roles of the archive replaced those of the target, as the event log did; null ' +
          'where the archive has no system section, which leaves both as they are.',
      }),
      null,
    ),
    rolesLeftOut: added(
      z.array(roleLeftOut).meta({
        description:
          'How the roles of the target differ from those of the archive. An import gives and takes only permissions that ' +
          'its caller has in the target, and leaves the role `public` alone; the root token may do all.',
      }),
      [],
    ),
    stages: z.array(stage),
  })

/** What came of an import. */
export const importedSchema = z.object({ projects: z.array(projectWith(importedStage)), ...completenessFields })

/** What came of a dry run. */
export const examinedSchema = z.object({ projects: z.array(projectWith(examinedStage)), ...completenessFields })

/** The answer to either. */
export const importAnswerSchema = z.object({
  ok: z.literal(true),
  dryRun: z.boolean(),
  projects: z.array(projectWith(z.union([importedStage, examinedStage]))),
  ...completenessFields,
})

/** What went into a project. */
export type ImportedProject = ReadonlyDeep<z.output<typeof importedSchema>>['projects'][number]

/** In what a role of the target is not as the archive says. */
export type RoleLeftOut = ReadonlyDeep<z.output<typeof roleLeftOut>>
