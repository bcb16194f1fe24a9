import { selectFrom } from '../../archive/select-project.ts'
import { toExaminedStage } from '../../transfer/import/examined-stage.ts'
import { type DirectTarget, importDirect, tryDirect } from '../../transfer/import/external/import-direct.ts'
import { toCompleteness, toRolesResult } from '../../transfer/import/import-result.ts'
import type { TargetProject } from '../../transfer/import/targets.ts'
import { type ArchiveInput, withArchiveInput, withRepeatableInput } from '../archive-input.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import type { ImportOptions } from '../import/import-options.ts'
import { type Examination, replacementWarning, reportExamination, reportImport } from '../import/import-report.ts'
import { warnOfMissing } from '../missing-text.ts'
import { withTemporaryFolder } from '../temporary-folder.ts'
import { confirm } from '../terminal/confirm.ts'
import { printable } from '../terminal/printable.ts'
import { type FileProgress, fileProgressLine, showProgress } from '../terminal/progress.ts'
import { readDirectAddress } from './direct-address.ts'
import { withDirectDatabase } from './direct-database.ts'
import { warningOfLeft } from './warning-of-left.ts'

/** A file, and the database that it is imported into. */
interface Planned {
  readonly input: ArchiveInput
  readonly target: DirectTarget
  /** Where rows wait until they are loaded. */
  readonly spoolFolder: string
}

/** `data:import` into a database that is named by its address: this process imports, without a server of Wharf's. */
export async function importDirectly(
  context: CommandContext,
  file: string,
  text: string,
  options: ImportOptions,
): Promise<number> {
  const address = await readDirectAddress(context, text)
  const work = (input: ArchiveInput): Promise<number> =>
    withDirectDatabase(context, address, { forWriting: !options.dryRun }, (source) =>
      withTemporaryFolder('a temporary folder', async (spoolFolder) => {
        const planned = { input, target: { ...source, slug: address.project }, spoolFolder }
        const reporting = { ...options, location: printable(` in ${address.name}`) }
        return options.dryRun
          ? reportExamination(context, await examine(context, planned, options, true), reporting)
          : importOnceConfirmed(context, planned, reporting)
      }),
    )
  return withArchiveInput(context, file, (input) =>
    options.yes || options.dryRun ? work(input) : withRepeatableInput(context, input, work),
  )
}

async function importOnceConfirmed(
  context: CommandContext,
  planned: Planned,
  options: ImportOptions & { readonly location: string },
): Promise<number> {
  if (!options.yes) {
    const warning = replacementWarning(await examine(context, planned, options, false), options)
    if (!(await confirm(context, warning, options))) return EXIT.failed
  }
  const startedAt = performance.now()
  let lacking = toCompleteness([])
  const imported = await send(context, planned, options, async ({ archived }) => {
    lacking = toCompleteness([archived])
    return true
  })
  const seconds = (performance.now() - startedAt) / 1000
  if (options.yes) await warnOfMissing(context, 'the archive', lacking)
  const projects = imported ? [imported] : []
  return reportImport(context, { file: planned.input.name, projects, ...lacking, seconds }, options)
}

/** @param tries whether all that an import does but the rows is done, and taken back. */
async function examine(
  context: CommandContext,
  planned: Planned,
  options: ImportOptions,
  tries: boolean,
): Promise<Examination> {
  let found: Examination | undefined
  await send(context, planned, options, async (compared) => {
    if (tries) await tryDirect(compared, context.signal)
    found = await toExamination(planned, compared)
    return false
  })
  if (!found) throw new Error('an archive was compared with nothing')
  return found
}

async function toExamination(
  { input, target }: Planned,
  { archived, project, stages }: TargetProject,
): Promise<Examination> {
  const kept = { system: target.database, undoHours: 0 }
  const examined = await Promise.all(stages.map((stage) => toExaminedStage(kept, stage, stages)))
  const compared = { slug: archived.slug, targetSlug: project.slug, ...toRolesResult(undefined), stages: examined }
  return { file: input.name, projects: [compared], ...toCompleteness([archived]) }
}

/** Reads the archive into the import, and shows how far it is. */
async function send(
  { signal, ...context }: CommandContext,
  { input, target, spoolFolder }: Planned,
  { quiet, allowEdited = false, allowIncomplete, project }: ImportOptions,
  goesOn: (target: TargetProject) => Promise<boolean>,
) {
  const limits = await context.environment.loadConfig()
  const progress: FileProgress = { bytes: 0, bytesTotal: input.sizeBytes, waitingFor: undefined }
  async function* counted(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of input.read()) {
      yield chunk
      progress.bytes += chunk.length
    }
    progress.waitingFor = 'loading'
  }
  const policy = { allowEdited, ...(allowIncomplete !== undefined && { allowIncomplete }) }
  return showProgress({ signal, ...context }, { quiet, line: (seconds) => fileProgressLine(progress, seconds) }, () =>
    warningOfLeft({ signal, ...context }, (onLeft) =>
      importDirect(target, (use) => use(selectFrom(counted(), project)), {
        ...{ limits, spoolFolder, spoolReserveBytes: limits.spoolReserveBytes, signal, ...policy },
        ...{ confirm: goesOn, onLeft },
      }),
    ),
  )
}
