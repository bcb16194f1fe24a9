/** Something of a stage that an archive has no line for. */
export interface NotInArchive {
  readonly kind: string
  readonly name: string
  readonly detail?: string | undefined
  /** Whether rows are missing with it; undefined where an earlier version wrote it. */
  readonly rows?: boolean | undefined
  /** Only where an archive has several. */
  readonly project?: string | undefined
  readonly stage?: string
}

/** What is known of an archive, or of something made from one. */
export type Completeness =
  /** It has everything that it was asked to have. */
  | 'complete'
  /** Rights, publications and the like are missing, and no rows. */
  | 'no rows missing'
  | 'rows missing'
  /** A version that did not look for everything made it. */
  | 'not known'

/** What takes rows with it, where the entry does not say so itself. */
const KINDS_WITH_ROWS: ReadonlySet<string> = new Set(['table', 'partitioned table', 'foreign table', 'large object'])

/** Whether rows are missing for lack of it. */
export const lacksRows = ({ kind, rows }: NotInArchive): boolean => rows ?? KINDS_WITH_ROWS.has(kind)

/** Says of each entry whether rows are missing for lack of it. */
export const withRowsMarked = <T extends NotInArchive>(things: readonly T[]): T[] =>
  things.map((thing) => (lacksRows(thing) ? { ...thing, rows: true } : thing))

/** What an archive says of itself. */
export interface Stated {
  /** null or undefined where it does not say so: an earlier version made it. */
  readonly complete?: boolean | null | undefined
  readonly notExported: readonly NotInArchive[]
}

export function completenessOf({ complete, notExported }: Stated): Completeness {
  if (notExported.some(lacksRows)) return 'rows missing'
  if (complete === null || complete === undefined) return 'not known'
  return complete ? 'complete' : 'no rows missing'
}

/** Whether all of several are complete; null where that is not known. */
export function allComplete(each: readonly (boolean | null | undefined)[]): boolean | null {
  if (each.includes(false)) return false
  return each.every((complete) => complete === true) ? true : null
}

/** What is said of something that is not complete, wherever it is said. */
export const COMPLETENESS_TEXT = {
  complete: 'is complete',
  'no rows missing':
    'lacks things that no archive can hold, or rights that were not asked for; no rows are missing with them',
  'rows missing': 'lacks rows that no archive can hold',
  'not known': 'may lack something: an earlier version made it, and did not look for everything',
} as const satisfies Record<Completeness, string>

/** An entry in words. */
export function nameMissing({ project, stage, kind, name, detail }: NotInArchive): string {
  const reason = detail === undefined ? '' : ` (${detail})`
  const of = [project, stage].filter((slug) => slug !== undefined).join('/')
  return `${of === '' ? '' : `${of}: `}${kind} ${name}${reason}`
}

/** How many names a line has. */
const MAX_NAMES = 8

/** The same of several: those of one kind that lack the same share a line, such as all that a login may read and does not own. */
function nameAlike(things: readonly NotInArchive[]): readonly string[] {
  const alike = new Map<string, NotInArchive[]>()
  for (const thing of things) {
    const { project, stage, kind, name, detail } = thing
    const key = JSON.stringify([project, stage, kind, detail ?? name])
    alike.set(key, [...(alike.get(key) ?? []), thing])
  }
  return [...alike.values()].map((group) => {
    const names = group.slice(0, MAX_NAMES).map(({ name }) => name)
    const more = group.length > MAX_NAMES ? ` and ${group.length - MAX_NAMES} more` : ''
    return nameMissing({ kind: '', ...group[0], name: `${names.join(', ')}${more}` })
  })
}

/** What the stages of an archive's projects lack, each entry with its stage, and its project where there are several. */
export const missingOf = <T extends NotInArchive>(
  projects: readonly {
    readonly slug: string
    readonly stages: readonly { readonly slug: string; readonly notExported: readonly T[] }[]
  }[],
): (T & { readonly stage: string })[] =>
  projects.flatMap((project) =>
    project.stages.flatMap(({ slug, notExported }) =>
      notExported.map((thing) => ({ ...(projects.length > 1 && { project: project.slug }), stage: slug, ...thing })),
    ),
  )

/** A sentence about what is missing, and what it is. */
export interface MissingPart {
  readonly sentence: string
  readonly things: readonly string[]
}

/**
 * What is missing, in words, before and after it is copied; empty where nothing is.
 *
 * @param subject what lacks it, e.g. `the archive`.
 */
export function describeMissing(subject: string, { complete, notExported }: Stated): readonly MissingPart[] {
  const sentence = (completeness: Completeness): string => `${subject} ${COMPLETENESS_TEXT[completeness]}`
  const things = (wanted: boolean): readonly NotInArchive[] =>
    notExported.filter((thing) => lacksRows(thing) === wanted)
  const parts = [
    { sentence: sentence('rows missing'), things: things(true).map(nameMissing) },
    { sentence: sentence('no rows missing'), things: nameAlike(things(false)) },
  ].filter((part) => part.things.length > 0)
  const isUnknown = complete === undefined || complete === null
  return isUnknown ? [...parts, { sentence: sentence('not known'), things: [] }] : parts
}
