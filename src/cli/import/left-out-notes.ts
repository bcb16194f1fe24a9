import { nameMissing } from '../../contract/completeness.ts'
import { printable } from '../terminal/printable.ts'

interface Thing {
  readonly kind: string
  readonly name: string
  readonly detail?: string | undefined
}

/** A project, with what its stages do not get of an archive, and what keeps its rows in them. */
export interface WithLeftOut {
  readonly targetSlug: string
  readonly stages: readonly {
    readonly slug: string
    readonly leftOut: readonly Thing[]
    readonly notReplaced: readonly Thing[]
  }[]
}

/** What an import leaves out, or leaves as it is, as lines of text: the same before and after it. */
export const leftOutNotes = (projects: readonly WithLeftOut[]): readonly string[] =>
  projects.flatMap(({ targetSlug, stages }) =>
    stages.flatMap(({ slug, leftOut, notReplaced }) => {
      const stage = `${printable(targetSlug)}/${printable(slug)}`
      return [
        ...listed(`${stage} does not get these rights and policies of the archive`, leftOut),
        ...listed(`${stage} keeps rows that no archive can hold`, notReplaced),
      ]
    }),
  )

const listed = (sentence: string, things: readonly Thing[]): readonly string[] =>
  things.length === 0 ? [] : [`warning: ${sentence}:`, ...things.map((thing) => `  ${printable(nameMissing(thing))}`)]
