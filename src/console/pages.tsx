import { useState } from 'preact/hooks'

/** Where a list is that is read page by page. */
export interface Pages {
  /** What the page comes after; empty for the first. */
  readonly after: string
  readonly query: { readonly after?: string }
  readonly set: (after: string) => void
}

/** @param key what the list is of: of another, the first page is read. */
export function usePages(key = ''): Pages {
  const [at, setAt] = useState({ key, after: '' })
  const after = at.key === key ? at.after : ''
  return { after, query: after === '' ? {} : { after }, set: (next) => setAt({ key, after: next }) }
}

interface PagerProps {
  readonly pages: Pages
  readonly next: string | null | undefined
  readonly what: string
  /** What the first page has, where that is not simply the first. */
  readonly first?: string
}

export function Pager({ pages, next, what, first = `First ${what}` }: PagerProps) {
  if (pages.after === '' && !next) return null
  return (
    <p class="actions">
      {pages.after !== '' && (
        <button type="button" onClick={() => pages.set('')}>
          {first}
        </button>
      )}
      {next && (
        <button type="button" onClick={() => pages.set(next)}>
          Next {what}
        </button>
      )}
    </p>
  )
}
