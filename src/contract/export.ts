import { z } from 'zod'
import type { ReadonlyDeep } from '../lib/readonly-deep.ts'
import { slug } from './fields.ts'
import { notExportedSchema } from './not-exported.ts'
import { plainText } from './plain-text.ts'

/**
 * How many projects one archive may hold. Each needs a database session of its own for as long as the export takes,
 * since all of them are read from one snapshot, each by the project's own login.
 */
const MAX_PROJECTS_PER_ARCHIVE = 32

/** What an export takes of each project. */
const parts = {
  stages: z.array(slug).min(1).max(100).optional(),
  excludeTables: z.array(plainText(63).min(1)).max(10_000).optional(),
  grants: z
    .boolean()
    .optional()
    .meta({
      description:
        'Whether the archive has the rights of other roles on the stages, which an import gives to those that exist at the target, ' +
        'in place of those that there are. Importing them needs `content.structure`. By default they are named, and left out.',
    }),
}

const selectedParts = {
  stages: parts.stages.meta({ description: 'Only these stages; all where it is missing.' }),
  excludeTables: parts.excludeTables.meta({ description: 'Tables whose structure and rows are left out.' }),
  grants: parts.grants,
}

const selection = z.strictObject({
  slug,
  system: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether the system section (roles and event log) is included.' }),
  targetSlug: slug.optional().meta({ description: 'Where an import of the archive goes, instead of to `slug`.' }),
  ...selectedParts,
})

const allowIncomplete = z.boolean().optional().meta({
  description: 'Whether rows may be missing that no archive can hold. By default that is refused.',
})

/** How many sessions an export may have read one database, and an import load one stage. */
export const MAX_READING_SESSIONS = 32

const jobs = z
  .int()
  .min(1)
  .max(MAX_READING_SESSIONS)
  .exactOptional()
  .meta({
    description:
      'How many sessions read one database side by side, at most. By default as many as the server has processors, up to 4; ' +
      'one with `maxBytesPerSecond`. Fewer do where connections are needed for others (`WHARF_HELPING_SESSIONS`), and for small databases. The archive is the ' +
      'same for any number, but for its first line.',
  })

/** How fast an export may be told to be, in bytes per second. */
export const RATES = { min: 256 * 1024, max: 1024 ** 3 } as const

const maxBytesPerSecond = z
  .int()
  .min(RATES.min)
  .max(RATES.max)
  .exactOptional()
  .meta({
    description:
      'How many bytes of the archive are made in a second, at most, before they are compressed: so that others who use the ' +
      'database are disturbed less. The export takes longer then, and its snapshot lasts longer. By default as many as can be.',
  })

const compression = z
  .enum(['gzip', 'zstd'])
  .exactOptional()
  .meta({
    description:
      'How the archive is compressed. zstd takes less room, where both servers run on a Node.js that has it (22.15 and ' +
      'newer). By default gzip, which is read everywhere; or what the headers ask for, where the archive is the answer.',
  })

const projects = z.array(selection).min(1).max(MAX_PROJECTS_PER_ARCHIVE)

/** What an export is asked for with. */
export const exportRequest = z.strictObject({ projects, allowIncomplete, jobs, maxBytesPerSecond, compression })

/** What stands for projects by their slugs. */
const pattern = z
  .string()
  .regex(/^[a-z0-9_*?-]{1,100}$/, { error: 'must be letters, digits, "-" or "_" in lower case, with "*" or "?"' })
  .regex(/[*?]/, { error: 'must have "*" or "?"; a project is named by its slug' })
  .meta({ description: '`*` stands for any characters of a slug, `?` for a single one.', examples: ['shop-*'] })

const patternSelection = z.strictObject({ pattern, system: selection.shape.system, ...selectedParts })

/** What the exports of a schedule are asked for with. */
export const scheduledExportRequest = z
  .strictObject({
    projects: z.array(selection).max(MAX_PROJECTS_PER_ARCHIVE).default([]),
    patterns: z
      .array(patternSelection)
      .min(1)
      .max(MAX_PROJECTS_PER_ARCHIVE)
      .exactOptional()
      .meta({
        description:
          'Stand, at each run, for all projects whose slugs match and which the token may export. If it is the root token, ' +
          'the run looks at attached servers before, and attaches what is new.',
      }),
    allowIncomplete,
    jobs,
    maxBytesPerSecond,
    compression,
  })
  .refine(({ projects, patterns }) => projects.length > 0 || patterns, {
    path: ['projects'],
    error: 'must name a project, where there are no patterns',
  })

/** The same in the record of a job, with the projects that the patterns stand for, once that is known. */
export const storedExportRequest = z.strictObject({
  ...scheduledExportRequest.shape,
  matched: z.array(selection).exactOptional(),
})

/** Which projects an export takes by a pattern. */
export type PatternSelection = ReadonlyDeep<z.output<typeof patternSelection>>

/** What an export would be asked for with. */
export const exportDryRunRequest = z.strictObject({ projects })

/** What an export would not have. */
export const exportDryRunSchema = z.object({ complete: z.boolean(), notExported: notExportedSchema })

/** Which parts of a project to export. */
export type ExportSelection = ReadonlyDeep<z.output<typeof selection>>

const end = z
  .union([
    z.strictObject({ project: slug }),
    z.strictObject({
      dsn: plainText(1_000).meta({ description: '`wharf://<project>:<TOKEN>@<host>[:port]`', examples: [] }),
    }),
  ])
  .meta({ description: 'A project of this server, or of another one.' })

/** One end of a transfer. */
export type TransferEnd = z.output<typeof end>

/** What a transfer is asked for with. */
export const transferRequest = z.strictObject({
  source: end,
  target: end,
  system: z.boolean().default(false),
  stages: parts.stages.meta({ description: 'Only these stages; all if missing.' }),
  excludeTables: parts.excludeTables,
  grants: parts.grants,
  allowIncomplete,
  jobs: jobs.meta({
    description:
      'As of an export, where the source is a project of this server, and as of an import, where the target is; another one ' +
      'decides by itself.',
  }),
  maxBytesPerSecond: maxBytesPerSecond.meta({
    description:
      'As of an export, wherever the source is. To another server, the archive is sent no faster than that, either.',
  }),
})
