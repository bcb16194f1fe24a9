import type { ObjectKey } from './dependencies.ts'
import type { NotExported } from './lines.ts'

/** What keeps an object from being described, for people; undefined where nothing does. */
export type BlockerOf = (key: ObjectKey) => string | undefined

/** What lines are made with: why something can't be described, and where to say that it was left out. */
export interface LineContext {
  readonly blockerOf: BlockerOf
  readonly leaveOut: (entry: NotExported) => void
}

interface NamedObject {
  readonly key: ObjectKey
  readonly name: string
}

/**
 * Those that can be described; says of the others that they are left out, and why.
 *
 * @param owner the table or domain that they are parts of.
 */
export function describable<Row extends NamedObject>(
  { blockerOf, leaveOut }: LineContext,
  kind: string,
  rows: readonly Row[],
  owner?: string,
): Row[] {
  return rows.filter(({ key, name }) => {
    const blocker = blockerOf(key)
    if (blocker !== undefined)
      leaveOut({ kind, name: owner === undefined ? name : `${owner}.${name}`, detail: blocker })
    return blocker === undefined
  })
}
