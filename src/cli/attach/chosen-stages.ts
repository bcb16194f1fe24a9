import { wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import { printable } from '../terminal/printable.ts'

/** The schema that is attached where none is named, and the stage that a single one becomes. */
const USUAL_SCHEMA = 'public'
const USUAL_STAGE = 'live'

/**
 * Which schema becomes which stage: those that are named in this order. Where stages are left out, a single one is `live`,
 * and several are called as their schemas are.
 *
 * @throws {AppError} WRONG_USE
 */
export function chosenStages(
  named: readonly string[],
  slugs: readonly string[],
): readonly { readonly slug: string; readonly schema: string }[] {
  const schemas = named.length === 0 ? [USUAL_SCHEMA] : named
  if (slugs.length > 0 && slugs.length !== schemas.length) {
    throw wrongUse(
      `there are ${schemas.length} schemas and ${slugs.length} stages: name a --stage for each --schema, in the same order, or none`,
    )
  }
  return schemas.map((schema, index) => {
    const slug = slugs[index] ?? (schemas.length === 1 ? USUAL_STAGE : schema)
    if (SLUG_PATTERN.test(slug)) return { slug, schema }
    const problem =
      slugs.length === 0 ? `the schema "${schema}" cannot give its stage its name` : `"${slug}" is no slug`
    throw wrongUse(
      printable(`${problem}: name stages by --stage, a lower-case letter, then letters, digits, "-" or "_"`),
    )
  })
}
