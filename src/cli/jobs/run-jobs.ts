import { z } from 'zod'
import { type Coding, FILE_ENDINGS } from '../../lib/coding.ts'
import { formatBytes, formatCount } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { openSink } from '../export/archive-sink.ts'
import { assertUsableOutput, besideArchive } from '../export/output-path.ts'
import { warnOfMissing } from '../missing-text.ts'
import { onServer, type Server, type ServerOptions } from '../server.ts'
import { printable } from '../terminal/printable.ts'
import { createTransferProgress, progressLine, showProgress } from '../terminal/progress.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatFields, formatTable } from '../terminal/table.ts'
import { print } from '../terminal/write.ts'
import { formatWork, workSchema } from '../work-text.ts'
import { downloadFile } from './download-file.ts'
import { assertSucceeded, followJob } from './follow-job.ts'
import { cancelJob, getJob, type Job, lackingOf, leftOutNotesOf, listJobs, matchedNotesOf } from './job-api.ts'

interface JobListOptions extends ServerOptions {
  readonly status?: string
  readonly kind?: string
  readonly project?: string
  readonly limit: string
}

interface JobWatchOptions extends ServerOptions {
  readonly quiet?: boolean
}

const HEADINGS = ['id', 'kind', 'what', 'status', 'done', 'created']

/** `job:list` */
export async function runJobList(context: CommandContext, options: JobListOptions): Promise<number> {
  const { status, kind, project, limit } = options
  const jobs = await onServer(context, options, ({ http }) => listJobs(http, { status, kind, project, limit }))
  return printResult(context, options, {
    json: { jobs },
    text: (style) => (jobs.length === 0 ? 'there are no jobs' : formatTable(HEADINGS, jobs.map(toCells), style)),
  })
}

/** `job:show` */
export async function runJobShow(context: CommandContext, id: string, options: ServerOptions): Promise<number> {
  const job = await onServer(context, options, ({ http }) => getJob(http, id))
  return printJob(context, options, job)
}

/** `job:watch` */
export async function runJobWatch(context: CommandContext, id: string, options: JobWatchOptions): Promise<number> {
  const job = await onServer(context, options, async ({ http }) =>
    followJob(context, http, await getJob(http, id), { quiet: options.quiet, cancelOnInterrupt: false }),
  )
  await printJob(context, options, job)
  if (job.error?.code === 'INCOMPLETE') return EXIT.incomplete
  return job.status === 'succeeded' ? EXIT.done : EXIT.failed
}

/** `job:cancel` */
export async function runJobCancel(context: CommandContext, id: string, options: ServerOptions): Promise<number> {
  const job = await onServer(context, options, ({ http }) => cancelJob(http, id))
  return printResult(context, options, {
    json: job,
    text: () =>
      job.status === 'cancelled' ? `cancelled job ${printable(id)}` : `job ${printable(id)} is being cancelled`,
  })
}

/** `job:download` */
export async function runJobDownload(
  context: CommandContext,
  id: string,
  options: JobWatchOptions & { readonly output?: string },
): Promise<number> {
  const { output, quiet = false } = options
  if (output !== undefined) await assertUsableOutput(output, context.environment.stdout)
  const downloaded = await onServer(context, options, async (server) => {
    const job = await getJob(server.http, id)
    assertSucceeded(job)
    await warnOfMissing(context, 'the archive', lackingOf(job))
    return downloadJob(context, server, job, { output, quiet })
  })
  return printResult(besideArchive(context, downloaded.file), options, {
    json: downloaded,
    text: () => `downloaded ${printable(downloaded.file)}, ${formatBytes(downloaded.bytes)}`,
  })
}

/** Downloads what an export made, showing how far it is. */
export async function downloadJob(
  context: CommandContext,
  { http }: Server,
  job: Job,
  { output, quiet }: { readonly output: string | undefined; readonly quiet: boolean },
): Promise<{ readonly file: string; readonly bytes: number }> {
  const { stdout } = context.environment
  const name = subjectsOf(job).join('-') || 'archive'
  const file = output ?? `${name.length > MAX_NAME ? 'projects' : name}.jsonl${FILE_ENDINGS[codingOf(job)]}`
  await assertUsableOutput(file, stdout)
  const progress = createTransferProgress()
  const line = (seconds: number): string => `downloading  ${progressLine(progress, seconds)}`
  const download = { http, jobId: job.id, openSink: () => openSink(file, stdout), progress, signal: context.signal }
  await showProgress(context, { quiet, line }, () => downloadFile(download))
  return { file, bytes: progress.bytes }
}

/** File systems take names of 255 bytes. */
const MAX_NAME = 200

const compressionSchema = z.object({ compression: z.enum(['gzip', 'zstd']).optional() })
const endSchema = z.object({ project: z.string().optional(), dsn: z.string().optional() })
const subjectSchema = z.object({
  projects: z.array(z.object({ slug: z.string(), targetSlug: z.string().optional() })).optional(),
  matched: z.array(z.object({ slug: z.string() })).optional(),
  patterns: z.array(z.object({ pattern: z.string() })).optional(),
  source: endSchema.optional(),
  target: endSchema.optional(),
})

/** How an archive is compressed that a job made: servers of earlier versions know gzip alone. */
const codingOf = ({ request }: Job): Coding => compressionSchema.safeParse(request).data?.compression ?? 'gzip'

/** The projects that a job is about, as they may be called. */
function subjectsOf({ request }: Job): string[] {
  const { projects = [], matched, patterns = [], source, target } = subjectSchema.safeParse(request).data ?? {}
  const byPattern = matched?.map(({ slug }) => slug) ?? patterns.map(({ pattern }) => pattern)
  const ends = [source, target].flatMap((end) => end?.project ?? end?.dsn ?? [])
  return ends.length > 0
    ? [ends.join(' to ')]
    : [...projects.map(({ slug, targetSlug }) => targetSlug ?? slug), ...byPattern]
}

const toCells = (job: Job): string[] => [
  job.id,
  job.kind,
  subjectsOf(job).join(', '),
  job.status,
  job.progress?.percent === null || !job.progress ? '' : `${job.progress.percent} %`,
  job.createdAt,
]

const subjectOf = ({ kind }: Job): string => (kind === 'export' ? 'the archive' : 'the target')

async function printJob(context: CommandContext, options: ResultOptions, job: Job): Promise<number> {
  if (job.status === 'succeeded') await warnOfMissing(context, subjectOf(job), lackingOf(job))
  for (const note of [...matchedNotesOf(job), ...leftOutNotesOf(job)]) await print(context.environment.stderr, note)
  return printResult(context, options, { json: job, text: () => formatJob(job) })
}

const workOf = ({ request }: Job): z.output<typeof workSchema> => workSchema.safeParse(request).data ?? {}

const partsOf = ({ parts, partsBefore }: NonNullable<Job['progress']>): string =>
  `${formatCount(parts)}, beside ${formatCount(partsBefore)} that an earlier attempt had loaded`

function formatJob(job: Job): string {
  const { progress, error } = job
  const fields = formatFields([
    ['what', `${job.kind} of ${subjectsOf(job).join(', ')}`],
    ...formatWork(workOf(job)),
    ['status', job.status],
    ['attempt', job.attempt > 1 ? String(job.attempt) : undefined],
    ['rows', progress ? formatCount(progress.rows) : undefined],
    ['parts', progress && progress.partsBefore > 0 ? partsOf(progress) : undefined],
    ['size', progress && progress.bytes > 0 ? formatBytes(progress.bytes) : undefined],
    ['created', job.createdAt],
    ['finished', job.finishedAt ?? undefined],
    ['kept until', job.expiresAt ?? undefined],
    ['damaged', job.archiveDamagedAt ? `since ${job.archiveDamagedAt}: export again` : undefined],
    ['error', error ? `${error.detail} (${error.code})` : undefined],
  ])
  return [
    `job ${printable(job.id)}`,
    fields,
    ...(error?.errors ?? []).map(({ detail }) => `    ${printable(detail)}`),
    ...(job.attempts.length > 1 ? job.attempts.map(formatAttempt) : []),
  ].join('\n')
}

/** One line of the log of attempts. */
function formatAttempt({ number, worker, startedAt, endedAt, outcome, error }: Job['attempts'][number]): string {
  const by = worker === null ? '' : ` by ${worker}`
  const why = error ? `: ${error.detail} (${error.code})` : ''
  const end = endedAt === null ? 'under way' : `${outcome} ${endedAt}${why}`
  return `  attempt ${number}, ${startedAt}${by}: ${printable(end)}`
}
