import { readArchive } from '../../archive/read-archive.ts'
import { selectFrom } from '../../archive/select-project.ts'
import { copyText } from '../../copy/copy-encoders.ts'
import { isPostgresAddress } from '../../database/address/parse-address.ts'
import { wrongUse } from '../../errors.ts'
import { parseServerTarget } from '../../transfer/remote/target.ts'
import { type ArchiveInput, STDIN, withArchiveInput, withRepeatableInput } from '../archive-input.ts'
import { GENEROUS_LIMITS } from '../archive-limits.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { toJobs } from '../export/export-selection.ts'
import { warnOfMissing } from '../missing-text.ts'
import { type Server, withServer } from '../server.ts'
import { assertCanConfirm, type Confirmation, confirm } from '../terminal/confirm.ts'
import { type FileProgress, fileProgressLine, showProgress } from '../terminal/progress.ts'
import { examineArchive, type ImportCall, importArchive } from './import-call.ts'
import type { ImportOptions } from './import-options.ts'
import { replacementWarning, reportExamination, reportImport } from './import-report.ts'
import { withScheduledArchive } from './scheduled-archive.ts'
import { beginUpload, endUpload, sendUpload } from './upload-archive.ts'

/** What is imported where. */
interface Import {
  readonly input: ArchiveInput
  readonly server: Server
  /** Undefined leaves it to the archive. */
  readonly targetSlug: string | undefined
  /** The path of an upload that the server has of it; undefined where it is sent with each call. */
  readonly upload?: string | undefined
}

/**
 * `data:import`
 *
 * @param first the file; with `--from-schedule`, the target.
 */
export async function runImport(
  context: CommandContext,
  first: string | undefined,
  second: string | undefined,
  options: ImportOptions,
): Promise<number> {
  const { fromSchedule, at, jobs } = options
  if (jobs !== undefined) toJobs(jobs)
  if (fromSchedule !== undefined) {
    if (second !== undefined) throw wrongUse('with --from-schedule there is no file: name the target alone, or nothing')
    return importScheduled(context, first, { ...options, fromSchedule })
  }
  if (at !== undefined) throw wrongUse('--at says which archive of a schedule is meant: name it with --from-schedule')
  if (first === undefined)
    throw wrongUse('say what to import: a file ("-": standard input), or --from-schedule <schedule>')
  return importFile(context, first, second, options)
}

async function importFile(
  context: CommandContext,
  file: string,
  address: string | undefined,
  options: ImportOptions,
): Promise<number> {
  if (address !== undefined && isPostgresAddress(address)) {
    if (!options.dryRun) assertCanConfirmFile(context, file, options)
    // Loaded here, since all others do without what connects to databases.
    const { importDirectly } = await import('../direct/import-directly.ts')
    return importDirectly(context, file, address, options)
  }
  const target = parseServerTarget(address)
  if (!options.dryRun) assertCanConfirmFile(context, file, options)
  const work = (input: ArchiveInput): Promise<number> =>
    withServer(context, target, (server) => importInto(context, { input, server, address }, options))
  return withArchiveInput(context, file, (input) => {
    const isReadOnce = address !== undefined && (options.yes || options.dryRun)
    return isReadOnce ? work(input) : withRepeatableInput(context, input, work)
  })
}

/** Imports what a schedule of a server has made, on that server. */
async function importScheduled(
  context: CommandContext,
  address: string | undefined,
  options: ImportOptions & { readonly fromSchedule: string },
): Promise<number> {
  if (address !== undefined && isPostgresAddress(address)) {
    throw wrongUse(
      'an archive of a schedule is imported on its own server; for a database by its address, download it (job:download)',
    )
  }
  if (!options.dryRun) assertCanConfirm(context, options)
  const { fromSchedule: schedule, at, quiet } = options
  return withServer(context, parseServerTarget(address), (server) =>
    withScheduledArchive(context, server, { schedule, at, quiet }, (input) =>
      importInto(context, { input, server, address }, options),
    ),
  )
}

async function importInto(
  context: CommandContext,
  { input, server, address }: Pick<Import, 'input' | 'server'> & { readonly address: string | undefined },
  options: ImportOptions,
): Promise<number> {
  const targetSlug = address !== undefined ? server.project : await defaultTarget(input, server, options)
  const work = (planned: Import): Promise<number> =>
    options.dryRun ? examine(context, planned, options) : importOnceConfirmed(context, planned, options)
  // What goes over a network survives a lost connection; what is asked about first is sent once, not twice.
  const isUploaded = server.location !== '' || !(options.yes || options.dryRun)
  const planned = { input, server, targetSlug }
  return isUploaded ? withUpload(context, planned, options, work) : work(planned)
}

/** Sends the archive ahead where the server takes uploads, and leaves nothing of it there. */
async function withUpload(
  context: CommandContext,
  planned: Import,
  { quiet }: ImportOptions,
  work: (planned: Import) => Promise<number>,
): Promise<number> {
  const { input, server } = planned
  const { http } = server
  const { sizeBytes } = input
  if (!input.isRepeatable || !sizeBytes) return work(planned)
  const sized = { ...input, sizeBytes }
  const upload = await beginUpload({ http, input: sized })
  if (upload === undefined) return work(planned)
  try {
    const progress: FileProgress = { bytes: 0, bytesTotal: sizeBytes, waitingFor: undefined }
    await showProgress(context, { quiet, line: (seconds) => fileProgressLine(progress, seconds) }, () =>
      sendUpload({ http, input: sized, progress, signal: context.signal }, upload),
    )
    return await work({ ...planned, upload })
  } finally {
    await endUpload(http, upload)
  }
}

/** @throws {AppError} WRONG_USE where nobody can be asked. */
function assertCanConfirmFile(context: CommandContext, file: string, options: Confirmation): void {
  if (file === STDIN && !options.yes) {
    throw wrongUse('this asks for confirmation, but standard input has the archive: confirm with --yes')
  }
  assertCanConfirm(context, options)
}

/**
 * Where the data goes when nobody said it: an archive of one project that names no target goes to the local project.
 *
 * @returns undefined where the archive says it.
 * @throws {AppError} ARCHIVE_INVALID
 */
async function defaultTarget(
  input: ArchiveInput,
  server: Server,
  { allowEdited = false, project }: ImportOptions,
): Promise<string | undefined> {
  let projects = 0
  for await (const item of readArchive(selectFrom(input.read(), project), copyText, {
    ...GENEROUS_LIMITS,
    allowEdited,
  })) {
    if (item.kind !== 'project') continue
    projects += 1
    if (projects > 1 || item.content.targetSlug !== undefined) return undefined
  }
  return server.project
}

async function examine(context: CommandContext, planned: Import, options: ImportOptions): Promise<number> {
  const { input, server } = planned
  const examined = await send(context, planned, options, examineArchive)
  return reportExamination(context, { file: input.name, ...examined }, { ...options, location: server.location })
}

async function importOnceConfirmed(context: CommandContext, planned: Import, options: ImportOptions): Promise<number> {
  const { input, server } = planned
  if (!options.yes) {
    const examined = await send(context, planned, options, examineArchive)
    const warning = replacementWarning({ file: input.name, ...examined }, server)
    if (!(await confirm(context, warning, options))) return EXIT.failed
  }
  const startedAt = performance.now()
  const imported = await send(context, planned, options, importArchive)
  const seconds = (performance.now() - startedAt) / 1000
  // Who was asked has been told before.
  if (options.yes) await warnOfMissing(context, 'the archive', imported)
  return reportImport(context, { file: input.name, ...imported, seconds }, { ...options, location: server.location })
}

/** Sends the archive for one purpose or the other, and shows how far it is. */
function send<T>(
  context: CommandContext,
  { input, server, targetSlug, upload }: Import,
  { allowEdited = false, allowIncomplete, project, quiet, ...options }: ImportOptions,
  purpose: (call: ImportCall) => Promise<T>,
): Promise<T> {
  const progress: FileProgress = { bytes: 0, bytesTotal: input.sizeBytes, waitingFor: undefined }
  const archive = upload === undefined ? { bytes: input.read() } : { upload }
  const jobs = options.jobs === undefined ? undefined : toJobs(options.jobs)
  return showProgress(context, { quiet, line: (seconds) => fileProgressLine(progress, seconds) }, () =>
    purpose({ http: server.http, archive, targetSlug, project, allowEdited, allowIncomplete, jobs, progress }),
  )
}
