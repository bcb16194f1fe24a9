import { formatCount, formatCounted, formatSeconds } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { missingLines, warnOfMissing } from '../missing-text.ts'
import { printable } from '../terminal/printable.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'
import { print } from '../terminal/write.ts'
import type { Examined, ExaminedProject, Imported, ImportedProject } from './import-call.ts'
import { leftOutNotes, type WithLeftOut } from './left-out-notes.ts'
import { roleNotes } from './role-notes.ts'

interface ReportOptions extends ResultOptions {
  /** For messages: ` on <address>`, or nothing. */
  readonly location: string
}

/** An archive, and what the server found when it compared it with its target. */
export interface Examination extends Examined {
  readonly file: string
}

/** An import that is done; as it is, the JSON result. */
export interface Import extends Imported {
  readonly file: string
  readonly seconds: number
}

/** What an import would replace by what, as a warning before it. */
export function replacementWarning(
  { file, projects, ...lacking }: Examination,
  { location }: { readonly location: string },
): string {
  const lines = [
    `this replaces all rows of these tables${location} with those of ${printable(file)}:`,
    formatExamined(projects, { colors: false }),
    ...systemNotes(projects),
    ...extensionNotes(projects),
    ...inPlaceNotes(projects),
    ...leftOutNotes(projects),
    ...missingLines('the archive', lacking),
  ]
  return lines.join('\n')
}

/** Prints what an import would do. */
export async function reportExamination(
  context: CommandContext,
  { file, projects, ...lacking }: Examination,
  { location, ...options }: ReportOptions,
): Promise<number> {
  await warnOfMissing(context, 'the archive', lacking)
  await warnOfLeftOut(context, projects)
  return printResult(context, options, {
    json: { dryRun: true, file, projects, ...lacking },
    text: (style) => {
      const heading = `${printable(file)} can be imported${location}; nothing was changed`
      const notes = [...systemNotes(projects), ...extensionNotes(projects), ...inPlaceNotes(projects)]
      return [heading, formatExamined(projects, style), ...notes].join('\n')
    },
  })
}

/** Prints what an import did. */
export async function reportImport(
  context: CommandContext,
  imported: Import,
  { location, ...options }: ReportOptions,
): Promise<number> {
  await warnOfLeftOut(context, imported.projects)
  return printResult(context, options, {
    json: imported,
    text: (style) => {
      const { file, projects, seconds } = imported
      const cells = projects.flatMap(({ targetSlug, stages }) =>
        stages.map(({ slug, tables, rows }) => [targetSlug, slug, formatCount(tables), formatCount(rows)]),
      )
      const heading = `imported ${printable(file)}${location} in ${formatSeconds(seconds)}`
      const table = formatTable(['project', 'stage', 'tables', 'rows'], cells, style)
      return [heading, table, ...allRoleNotes(projects), ...undoNotes(projects), ...keptNotes(projects)].join('\n')
    },
  })
}

async function warnOfLeftOut(
  { environment: { stderr } }: CommandContext,
  projects: readonly WithLeftOut[],
): Promise<void> {
  const notes = leftOutNotes(projects)
  if (notes.length > 0) await print(stderr, notes.join('\n'))
}

function formatExamined(projects: readonly ExaminedProject[], style: { readonly colors: boolean }): string {
  const cells = projects.flatMap(({ targetSlug, stages }) =>
    stages.flatMap(({ slug, tables }) =>
      tables.map(({ name, rowsNow, rowsAfter }) => [
        targetSlug,
        slug,
        name,
        rowsNow === null ? 'no table' : formatCount(rowsNow),
        formatCount(rowsAfter),
      ]),
    ),
  )
  return formatTable(['project', 'stage', 'table', 'rows now', 'rows in the file'], cells, style)
}

/** An import of the system section replaces roles too, so it says so before it asks. */
const systemNotes = (projects: readonly ExaminedProject[]): readonly string[] =>
  projects.flatMap(({ targetSlug, roles, rolesLeftOut }) =>
    roles === null
      ? []
      : [
          `the roles and the event log of ${printable(targetSlug)} are replaced by those in the file (${formatCounted(roles, 'role')})`,
          ...roleNotes(targetSlug, rolesLeftOut),
        ],
  )

const allRoleNotes = (projects: readonly ImportedProject[]): readonly string[] =>
  projects.flatMap(({ targetSlug, rolesLeftOut }) => roleNotes(targetSlug, rolesLeftOut))

/** Extensions are made for all projects, and may be of another version than where the archive was made. */
const extensionNotes = (projects: readonly ExaminedProject[]): readonly string[] =>
  projects.flatMap(({ targetSlug, stages }) =>
    stages.flatMap(({ slug, extensions }) =>
      extensions.flatMap(({ name, version, versionNow }) => {
        const stage = `${printable(targetSlug)}/${printable(slug)}`
        if (versionNow === null)
          return [`the extension ${printable(name)}, which ${stage} needs, is made for all projects`]
        const differs = `the extension ${printable(name)} is of version ${printable(versionNow)} here, and ${printable(version)} in the file`
        return version === versionNow ? [] : [differs]
      }),
    ),
  )

/** Servers of earlier versions do not name them. */
const UNKNOWN_REASONS =
  'it has things that an archive does not describe (publications, rights that others granted, ...)'

const inPlaceNotes = (projects: readonly ExaminedProject[]): readonly string[] => [
  ...projects.flatMap(({ targetSlug, stages }) =>
    stages
      .filter(({ mode }) => mode === 'in place')
      .map(({ slug, reasonsInPlace }) => {
        const reasons = reasonsInPlace.length > 0 ? reasonsInPlace.map(printable).join('; ') : UNKNOWN_REASONS
        return `${printable(targetSlug)}/${printable(slug)} is loaded where it is, and readers wait meanwhile: ${reasons}`
      }),
  ),
  ...undoNotes(projects),
]

/** Nobody looks for what they do not know of. */
const keptNotes = (projects: readonly ImportedProject[]): readonly string[] =>
  projects.flatMap(({ targetSlug, stages, roles }) => {
    const kept = stages
      .filter(({ undoable }) => undoable)
      .map(({ slug }) => `data:undo brings back what ${printable(targetSlug)}/${printable(slug)} had before`)
    if (roles === null || kept.length === 0) return kept
    return [...kept, `data:undo does not bring back the roles of ${printable(targetSlug)}, which were replaced`]
  })

/** The report names what cannot be undone both before and after the import. */
const undoNotes = (projects: readonly (ExaminedProject | ImportedProject)[]): readonly string[] =>
  projects.flatMap(({ targetSlug, stages }) =>
    stages
      .filter(({ undoable }) => !undoable)
      .map(
        ({ slug }) =>
          `data:undo cannot bring back what ${printable(targetSlug)}/${printable(slug)} had before: it is not kept`,
      ),
  )
