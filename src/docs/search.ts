interface Searched {
  readonly title: string
  readonly kind: string
  readonly path: string
  readonly text: string
}

const MAX_SHOWN = 30

const byId = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T

/** Searches calls and guides while somebody types. `/` leads there, arrows through what was found, Escape back. */
export function startSearch(): void {
  const input = byId<HTMLInputElement>('search')
  const found = byId('found')
  const links = (): HTMLAnchorElement[] => [...found.querySelectorAll('a')]
  let reading: Promise<readonly Searched[]> | undefined

  const search = async (): Promise<void> => {
    const asked = input.value
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean)
    reading ??= fetch('/docs/files/search.json').then((answer) => answer.json() as Promise<readonly Searched[]>)
    const all = await reading
    if (input.value !== asked) return
    show(found, words.length === 0 ? undefined : find(all, words), words)
  }
  const run = (): void => {
    search().catch(() => {
      reading = undefined
      byId('found').hidden = false
      found.querySelector('p')?.replaceChildren('Search did not answer. Try again.')
    })
  }
  const close = (): void => {
    input.value = ''
    show(found, undefined)
    input.focus()
  }

  input.addEventListener('input', run)
  found.addEventListener('click', ({ target }) => {
    // A result on this very page loads nothing: it has to be seen.
    if (target instanceof Element && target.closest('a')) show(found, undefined)
  })
  document.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const isIn = target === input || (target instanceof Node && found.contains(target))
    if (key === '/' && !(target instanceof HTMLInputElement)) input.focus()
    else if (key === 'Escape' && isIn) close()
    else if (key === 'Enter' && target === input) links()[0]?.click()
    else if ((key === 'ArrowDown' || key === 'ArrowUp') && isIn) move(links(), input, key === 'ArrowDown' ? 1 : -1)
    else return
    event.preventDefault()
  })
}

function move(links: readonly HTMLAnchorElement[], input: HTMLElement, step: number): void {
  const next = links.indexOf(document.activeElement as HTMLAnchorElement) + step
  if (next < 0) input.focus()
  else links[Math.min(next, links.length - 1)]?.focus()
}

/** What tells of Wharf's past, or of working on it: last, since who searches wants to do something. */
const LAST = new Set(['Changelog', 'Contributing'])

/** Those that have every word: first those that have it in their title, then those whose text says it early. */
function find(all: readonly Searched[], words: readonly string[]): readonly Searched[] {
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word))
  const rank = ({ title, kind, text }: Searched): number =>
    (LAST.has(kind) ? 1e9 : 0) + (has(title) ? 0 : 1 + Math.max(0, firstOf(text, words)))
  return all
    .filter(({ title, kind, text }) => has(`${title} ${kind} ${text}`))
    .map((entry) => ({ entry, rank: rank(entry) }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry)
}

/** Where the first of some words stands in a text; -1 where none does. */
function firstOf(text: string, words: readonly string[]): number {
  const found = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)
  return found.length === 0 ? -1 : Math.min(...found)
}

/** How much of a text is shown, before and after the first word that was found. */
const [SHOWN_BEFORE, SHOWN_AFTER] = [40, 100]

/** Some of a text, from where it says what was searched for. */
function excerptOf(text: string, words: readonly string[]): string {
  const at = Math.max(0, firstOf(text, words))
  const start = at <= SHOWN_BEFORE ? 0 : text.indexOf(' ', at - SHOWN_BEFORE) + 1
  const end = text.length <= at + SHOWN_AFTER ? text.length : text.lastIndexOf(' ', at + SHOWN_AFTER)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

function show(found: HTMLElement, results: readonly Searched[] | undefined, words: readonly string[] = []): void {
  found.hidden = results === undefined
  const shown = results?.slice(0, MAX_SHOWN) ?? []
  const count = results?.length ?? 0
  found.querySelector('p')?.replaceChildren(count === 0 ? 'Nothing found.' : `${count} found.`)
  found.querySelector('ul')?.replaceChildren(...shown.map((entry) => toItem(entry, words)))
}

function toItem({ title, kind, path, text }: Searched, words: readonly string[]): HTMLElement {
  const [item, link, note] = [document.createElement('li'), document.createElement('a'), document.createElement('span')]
  const excerpt = document.createElement('p')
  link.href = path
  link.textContent = title
  note.className = 'quiet'
  note.textContent = ` ${kind}`
  excerpt.className = 'quiet'
  excerpt.textContent = excerptOf(text, words)
  item.append(link, note, excerpt)
  return item
}
