/** Each view by its path, as it stands after `#`; what is in parentheses are the parts of the path. The first that matches counts. */
export const PATHS = {
  job: /^\/jobs\/([\w-]+)$/,
  jobs: /^\/jobs[^?]*\??(.*)$/,
  restore: /^\/restore\/([\w-]+)\/([\w-]+)$/,
  newSchedule: /^\/schedules\/new$/,
  schedule: /^\/schedules\/([\w-]+)$/,
  schedules: /^\/schedules/,
  rows: /^\/data\/([\w-]+)\/([\w-]+)\/([^/]+)$/,
  stage: /^\/data\/([\w-]+)\/([\w-]+)$/,
  data: /^\/data$/,
  eventLog: /^\/log\/([\w-]+)\/([\w-]+)$/,
  transfer: /^\/transfer$/,
  import: /^\/import$/,
  people: /^\/people$/,
  roles: /^\/roles\/([\w-]+)$/,
  webhook: /^\/notifications\/([\w-]+)$/,
  notifications: /^\/notifications$/,
  server: /^\/server$/,
} as const satisfies Readonly<Record<string, RegExp>>

/** What jobs are listed by. */
export interface JobFilter {
  readonly project?: string
  readonly status?: string
  readonly kind?: string
}

/** Where the jobs are listed that a filter lets through: `#/jobs?status=failed`. */
export function jobsPath(filter: JobFilter): string {
  const asked = Object.entries(filter).filter(([, text]) => text !== '')
  return `#/jobs${asked.length > 0 ? '?' : ''}${new URLSearchParams(asked)}`
}

/** The overview is what any other path shows: addresses are typed, too. */
export type PathName = keyof typeof PATHS | 'overview'

/** The view of a path, and the parts of the path. */
export function findPath(path: string): { readonly name: PathName; readonly parts: readonly string[] } {
  for (const [name, pattern] of Object.entries(PATHS)) {
    const match = pattern.exec(path)
    if (match) return { name: name as keyof typeof PATHS, parts: match.slice(1) }
  }
  return { name: 'overview', parts: [] }
}
