import type { ClosingKind, Entry } from './lines.ts'

/** Fields that name what is closed; they have to agree in an edited archive, too. */
const NAMES = ['slug', 'table', 'part']

const IF_EDITED = 'the archive was damaged, or else edited, which has to be allowed'

export interface ClosingRules {
  /** Whether counts and sums may disagree. */
  readonly allowEdited: boolean
  /** Whether lines end in CR LF, which is not how they were summed up. */
  readonly hasCrLf: boolean
}

/** @returns in what a closing line disagrees with what it closes; undefined if in nothing. */
export function closingFault(
  stated: Entry<ClosingKind>,
  found: Entry<ClosingKind>,
  { allowEdited, hasCrLf }: ClosingRules,
): string | undefined {
  const statements: Readonly<Record<string, unknown>> = stated.content
  const counted: Readonly<Record<string, unknown>> = found.content
  const name = NAMES.find((field) => statements[field] !== counted[field])
  if (name !== undefined) {
    return `closes ${named(name, statements[name])}, but ${named(name, counted[name])} is open`
  }
  if (allowEdited) return undefined
  for (const [field, value] of Object.entries(counted)) {
    const statement = statements[field]
    if (statement === value) continue
    if (field !== 'sha256') return `counts ${statement} ${field}, but there are ${value}: ${IF_EDITED}`
    const because = hasCrLf ? ' (its lines end in CR LF, which counts as edited)' : ''
    return `has another sum than the lines it closes: ${IF_EDITED}${because}`
  }
  return undefined
}

function named(field: string, value: unknown): string {
  if (field !== 'part') return `"${value}"`
  return value === undefined ? 'a section without "part"' : `part ${value}`
}
