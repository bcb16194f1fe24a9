import { plainText } from '../contract/plain-text.ts'
import { queryInteger } from './query.ts'

/** The query parameters of every list; spread into a route's `query` object. */
export const pageQuery = {
  limit: queryInteger({ min: 1, max: 200, default: 50 }).meta({ description: 'How many to answer at most.' }),
  after: plainText(200).optional().meta({ description: '`next` of the page before this one.' }),
}

/**
 * Reads one page of a list.
 *
 * @param find finds so many items in the list's order: one too many says that there is a next page.
 * @param cursorOf what the list is ordered by, so that the next page can begin after it.
 */
export async function readPage<T>(
  { limit }: { readonly limit: number },
  find: (limit: number) => Promise<readonly T[]>,
  cursorOf: (item: T) => string,
): Promise<{ readonly items: readonly T[]; readonly next: string | null }> {
  const found = await find(limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, next: found.length > limit && last !== undefined ? cursorOf(last) : null }
}
