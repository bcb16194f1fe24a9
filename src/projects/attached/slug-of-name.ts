import { SLUG_PATTERN } from '../../lib/slug.ts'

/**
 * Makes a slug of the name of a database or a schema: the name itself where that is a slug, else the name in lower case,
 * with `-` in the place of characters that a slug cannot have.
 *
 * @param prefix what the slug begins with.
 * @returns undefined where nothing of the name is left, or it is too long.
 */
export function slugOfName(name: string, prefix = ''): string | undefined {
  if (SLUG_PATTERN.test(prefix + name)) return prefix + name
  const left = name
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const slug = /^[a-z]/.test(prefix + left) ? prefix + left : `db-${left}`
  return left !== '' && SLUG_PATTERN.test(slug) ? slug : undefined
}
