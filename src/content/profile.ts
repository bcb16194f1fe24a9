import { AppError } from '../errors.ts'
import type { ContentAccess } from './admission.ts'
import { POSTGREST, POSTGREST_SAYS } from './query/index.ts'

/** What PostgREST's clients send unless they are told otherwise, where a project has no schema of that name. */
const DEFAULT = 'public'

/**
 * The schema that a client names in `Accept-Profile` or `Content-Profile`: an address here has one alone, so it is
 * another name of that, and never another schema.
 *
 * @param named the values of both headers, undefined where they are missing.
 * @returns what was named, undefined where nothing was.
 * @throws {AppError} NOT_ACCEPTABLE where it is another schema.
 */
export function profileOf(
  { project, stage }: Pick<ContentAccess, 'project' | 'stage'>,
  named: readonly unknown[],
): string | undefined {
  let profile: string | undefined
  for (const name of named) {
    if (typeof name !== 'string') continue
    const isDefault = name === DEFAULT && project.login !== null
    if (name !== stage.slug && name !== stage.schemaName && !isDefault) {
      throw new AppError(
        'NOT_ACCEPTABLE',
        `there is no schema "${name.slice(0, 200)}" at this address, which has the stage "${stage.slug}" alone`,
        { postgrestCode: POSTGREST.unknownSchema, postgrest: POSTGREST_SAYS.unknownSchema(stage.slug) },
      )
    }
    profile = name
  }
  return profile
}
