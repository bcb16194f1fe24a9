import { z } from 'zod'
import { formatBytes, formatSeconds } from '../lib/units.ts'

/** A notification in words, for people. */
export interface Message {
  readonly title: string
  /** What else is to be said, a name before each. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Where more is to be found; undefined where this server does not know its own address. */
  readonly url: string | undefined
  readonly isBad: boolean
}

/** How much of one value is said, and how many projects are named: chats take so much, and no more. */
const MAX_VALUE = 800
const MAX_PROJECTS = 20

const time = z.coerce.date()

/** What `data` of a notification can hold, as far as people are told. */
const dataSchema = z.object({
  job: z
    .object({
      kind: z.string(),
      startedAt: time.nullable(),
      finishedAt: time.nullable(),
      bytes: z.number().nullable(),
      error: z.object({ code: z.string(), detail: z.string() }).nullable(),
      url: z.string(),
    })
    .optional(),
  run: z.object({ dueAt: z.string(), reason: z.string() }).optional(),
  archive: z
    .object({
      lastAt: z.string().nullish(),
      maxAgeHours: z.number().optional(),
      bytes: z.number().optional(),
      bytesBefore: z.number().optional(),
      percent: z.number().optional(),
    })
    .optional(),
  projects: z.array(z.string()).default([]),
  schedule: z.object({ name: z.string(), url: z.string() }).nullish(),
  webhook: z.object({ name: z.string() }).optional(),
})

type Data = z.output<typeof dataSchema>

/** Says a notification in words. @throws {Error} for data that Wharf did not write. */
export function toMessage({ type, data }: { readonly type: string; readonly data: unknown }): Message {
  const said = dataSchema.parse(data)
  const { schedule } = said
  const url = said.job?.url ?? schedule?.url
  const fields = [
    ...(schedule && said.job ? [['Schedule', schedule.name]] : []),
    ...(said.projects.length > 0 && !said.job ? [['Projects', namesOf(said)]] : []),
    ...jobFields(said),
    ...alarmFields(said),
  ] as [string, string][]
  return {
    title: toLine(titleOf(type, said)),
    fields: fields.map(([name, value]) => [name, toLine(value)]),
    url: url && URL.canParse(url) ? url : undefined,
    isBad: !['job.succeeded', 'job.cancelled', 'webhook.test'].includes(type),
  }
}

function titleOf(type: string, said: Data): string {
  const job = `${capital(said.job?.kind ?? 'job')} of ${namesOf(said) || 'no project'}`
  const schedule = `schedule ${said.schedule?.name ?? ''}`
  switch (type) {
    case 'job.succeeded':
      return `${job} succeeded`
    case 'job.failed':
      return `${job} failed: ${said.job?.error?.code ?? 'INTERNAL'}`
    case 'job.cancelled':
      return `${job} was cancelled`
    case 'proof.failed':
      return `${job} failed: its archive could not be proven`
    case 'schedule.missed':
      return said.run?.reason === 'late' ? `A run of ${schedule} began late` : `A run of ${schedule} was skipped`
    case 'archive.overdue':
      return `The last archive of ${schedule} is too old`
    case 'archive.shrunk':
      return `The archive of ${schedule} has shrunk by ${said.archive?.percent ?? 0} %`
    default:
      return `The webhook ${said.webhook?.name ?? ''} works`
  }
}

function jobFields({ job }: Data): readonly (readonly [string, string])[] {
  if (!job) return []
  const { error, startedAt, finishedAt, bytes } = job
  return [
    ...(error ? ([['Reason', error.detail]] as const) : []),
    ...(startedAt && finishedAt
      ? ([['Took', formatSeconds((finishedAt.getTime() - startedAt.getTime()) / 1_000)]] as const)
      : []),
    ...(bytes ? ([['Archive', formatBytes(bytes)]] as const) : []),
  ]
}

function alarmFields({ run, archive }: Data): readonly (readonly [string, string])[] {
  const { lastAt, maxAgeHours, bytes, bytesBefore } = archive ?? {}
  return [
    ...(run ? ([['Due', run.dueAt]] as const) : []),
    ...(maxAgeHours === undefined
      ? []
      : ([['Last archive', `${lastAt ?? 'none'}; allowed are ${maxAgeHours} hours`]] as const)),
    ...(bytes === undefined || bytesBefore === undefined
      ? []
      : ([['Archive', `${formatBytes(bytes)}; ${formatBytes(bytesBefore)} before`]] as const)),
  ]
}

function namesOf({ projects }: Data): string {
  const more = projects.length - MAX_PROJECTS
  return projects.slice(0, MAX_PROJECTS).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** One line of limited length, whatever a name or an error has in it. */
function toLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return line.length > MAX_VALUE ? `${line.slice(0, MAX_VALUE)}…` : line
}
