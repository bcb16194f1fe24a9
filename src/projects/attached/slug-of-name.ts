import { SLUG_PATTERN } from '../../lib/slug.ts'

/**
 * The slug of something that PostgreSQL calls by this name: the name itself where that is one, else what of it a slug
 * can have, in lower case, with `-` for all else.
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
