import { wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import { printable } from '../terminal/printable.ts'
import { type NamedStage, usualStages } from '../usual-stages.ts'

/**
 * Which schema becomes which stage: those that are named in this order, or the usual ones.
 *
 * @throws {AppError} WRONG_USE
 */
export function chosenStages(named: readonly string[], slugs: readonly string[]): readonly NamedStage[] {
  const usual = usualStages(named)
  if (slugs.length > 0 && slugs.length !== usual.length) {
    throw wrongUse(
      `there are ${usual.length} schemas and ${slugs.length} stages: name a --stage for each --schema, in the same order, or none`,
    )
  }
  return usual.map(({ slug: usualSlug, schema }, index) => {
    const slug = slugs[index] ?? usualSlug
    if (SLUG_PATTERN.test(slug)) return { slug, schema }
    const problem =
      slugs.length === 0 ? `the schema "${schema}" cannot give its stage its name` : `"${slug}" is no slug`
    throw wrongUse(
      printable(`${problem}: name stages by --stage, a lower-case letter, then letters, digits, "-" or "_"`),
    )
  })
}
