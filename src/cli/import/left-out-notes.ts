import { nameMissing } from '../../contract/completeness.ts'
import { printable } from '../terminal/printable.ts'

/** A project, with what its stages do not get of an archive. */
export interface WithLeftOut {
  readonly targetSlug: string
  readonly stages: readonly {
    readonly slug: string
    readonly leftOut: readonly { readonly kind: string; readonly name: string; readonly detail: string }[]
  }[]
}

/** What stages do not get of an archive, as lines of text: the same before and after an import. */
export const leftOutNotes = (projects: readonly WithLeftOut[]): readonly string[] =>
  projects.flatMap(({ targetSlug, stages }) =>
    stages.flatMap(({ slug, leftOut }) =>
      leftOut.length === 0
        ? []
        : [
            `warning: ${printable(targetSlug)}/${printable(slug)} does not get these rights and policies of the archive:`,
            ...leftOut.map((thing) => `  ${printable(nameMissing(thing))}`),
          ],
    ),
  )
