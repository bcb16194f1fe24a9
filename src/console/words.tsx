import { useNow } from './use-now.ts'

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Made when it is first used, as all of these: that takes a slow phone 50 ms, which the sign-in would wait for. */
let ago: Intl.RelativeTimeFormat | undefined

/** A moment in words: `3 hours ago`. */
export function inWords(time: string, nowMs: number): string {
  const seconds = Math.round((Date.parse(time) - nowMs) / 1_000)
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1]
  ago ??= new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
  return ago.format(Math.trunc(seconds / size), unit)
}

const dateFormats = new Map<string, Intl.DateTimeFormat>()

/** The same format for the same options: to make one takes a hundred times as long as to use it. */
export function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options)
  const format = dateFormats.get(key) ?? new Intl.DateTimeFormat('en-GB', options)
  dateFormats.set(key, format)
  return format
}

/** A moment by the clocks of a time zone: `Wednesday 25 November 2026 at 02:30`. */
export const inZone = (time: string, timezone: string): string =>
  dateFormat({ dateStyle: 'full', timeStyle: 'short', timeZone: timezone }).format(new Date(time))

/** A length of time in words: `3 minutes`. */
export function inUnits(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ['second', 1]
  const count = Math.max(1, Math.round(seconds / size))
  return toCounted(count, unit)
}

/** A moment in words that stay true while they are looked at, with the exact one on hover. */
export const Time = ({ at }: { readonly at: string | null | undefined }) =>
  at ? <Moment at={at} /> : <span class="quiet">never</span>

function Moment({ at }: { readonly at: string }) {
  const nowMs = useNow()
  return (
    <time dateTime={at} title={at}>
      {inWords(at, nowMs)}
    </time>
  )
}

/** For how long something has been so, as long as it is looked at. */
export function Since({ at }: { readonly at: string }) {
  const seconds = (useNow() - Date.parse(at)) / 1_000
  return (
    <time dateTime={at} title={at}>
      {inUnits(seconds)}
    </time>
  )
}

/** `Europe/Zurich` */
export const browserZone = (): string => dateFormat({}).resolvedOptions().timeZone

/** A moment in the browser's time zone: `Wednesday 25 November 2026 at 02:30 (Europe/Zurich)`. */
export const inFull = (time: string): string => `${inZone(time, browserZone())} (${browserZone()})`

const SHORT = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const

/** The same in a list: `Wed 25 Nov, 02:30`. @param timezone the browser's, where it is missing. */
export const inShort = (time: string, timezone?: string): string =>
  dateFormat({ ...SHORT, timeZone: timezone })
    .format(new Date(time))
    .replace(',', '')

/** A moment in full, and in words. */
export const FullTime = ({ at }: { readonly at: string }) => (
  <>
    {inFull(at)}, <Time at={at} />
  </>
)

export const toCount = (count: number): string => count.toLocaleString('en')

/** `1 project`, `2,000 projects` */
export const toCounted = (count: number, what: string): string => `${toCount(count)} ${what}${count === 1 ? '' : 's'}`

export const toRows = (count: number): string => toCounted(count, 'row')

let collator: Intl.Collator | undefined

/** Names as people order them: `table_2` before `table_10`. */
export function inNaturalOrder(one: string, other: string): number {
  collator ??= new Intl.Collator('en', { numeric: true })
  return collator.compare(one, other)
}

/** Bytes as people say them: `1.4 MB`. */
export function toSize(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  const digits = power === 0 ? 0 : 1
  return `${(bytes / 1_000 ** power).toFixed(digits)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}

/** The slugs of the projects that a job or a schedule is about, as far as its request names them. */
export function projectsOf(request: unknown): string[] {
  if (typeof request !== 'object' || request === null) return []
  const named = ['projects', 'matched'].map((name) => (request as Record<string, unknown>)[name])
  if (named.some(Array.isArray))
    return named
      .filter(Array.isArray)
      .flat()
      .flatMap((each) => slugOf(each, 'slug'))
  const ends = ['source', 'target'].map((name) => (request as Record<string, unknown>)[name])
  return ends.flatMap((end) => slugOf(end, 'project'))
}

/** How many projects of a job are named. */
const NAMED = 3

/** What it is called that a job does: an import of an archive that this server has made is a restore. */
export const kindOf = ({ kind, request }: { readonly kind: string; readonly request: unknown }): string =>
  kind === 'import' && (request as ImportRequest | null)?.from ? 'restore' : kind

/** What an import was asked for with, as far as it is shown. */
export interface ImportRequest {
  /** The export whose archive it is. */
  readonly from?: { readonly jobId: string; readonly createdAt: string }
  readonly projects?: readonly { readonly slug: string; readonly targetSlug?: string }[]
}

/** What a job does, in words: `export of shop`, `restore of shop into shop-again`. */
export function subjectOf(job: { readonly kind: string; readonly request: unknown }): string {
  const { request } = job
  const kind = kindOf(job)
  const projects = projectsOf(request).map((slug, index) => {
    const target = job.kind === 'import' ? (request as ImportRequest).projects?.[index]?.targetSlug : undefined
    return target === undefined || target === slug ? slug : `${slug} into ${target}`
  })
  if (projects.length === 0) return `${kind} of an archive`
  if (kind === 'transfer') return `${kind} of ${projects.join(' to ')}`
  const others = projects.length - NAMED
  return `${kind} of ${projects.slice(0, NAMED).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
}

function slugOf(value: unknown, name: string): string[] {
  const slug = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return typeof slug === 'string' ? [slug] : []
}
