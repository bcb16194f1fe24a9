import { nameMissing } from '../../contract/completeness.ts'
import { printable } from '../terminal/printable.ts'

interface LeftOut {
  readonly kind: string
  readonly name: string
  readonly detail?: string | undefined
}

/** A project, with what its stages do not get of an archive, and what keeps its rows in them. */
export interface WithLeftOut {
  readonly targetSlug: string
  readonly stages: readonly {
    readonly slug: string
    readonly leftOut: readonly LeftOut[]
    readonly notReplaced: readonly LeftOut[]
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

const listed = (sentence: string, leftOut: readonly LeftOut[]): readonly string[] =>
  leftOut.length === 0 ? [] : [`warning: ${sentence}:`, ...leftOut.map((each) => `  ${printable(nameMissing(each))}`)]
