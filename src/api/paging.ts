import { plainText } from '../contract/plain-text.ts'
import { queryInteger } from './query.ts'

/** The query parameters of every list; spread into a route's `query` object. */
export const pageQuery = {
  limit: queryInteger({ min: 1, max: 200, default: 50 }).meta({ description: 'How many to answer at most.' }),
  after: plainText(200).optional().meta({ description: '`next` of the page before this one.' }),
}

export interface Page<T> {
  readonly items: T[]
  readonly next: string | null
}

/**
 * Cuts a page from what was found.
 *
 * @param found up to `limit + 1` items in the list's order: the one too many says that there is a next page.
 * @param cursorOf what the list is ordered by, so that the next page can begin after it.
 */
export function toPage<T>(found: readonly T[], limit: number, cursorOf: (item: T) => string): Page<T> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : null }
}
