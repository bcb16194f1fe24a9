import { useEffect } from 'preact/hooks'
import { SEARCH_ID } from './search-field.tsx'

/** For how long a first key waits for the second. */
const PATIENCE_MS = 1_000

/** Where keys are text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea') !== null

/** Where the view that is shown can be searched; else the overview is opened, which can. */
function search(): void {
  const field = document.getElementById(SEARCH_ID)
  if (field) {
    field.focus()
    return
  }
  location.hash = '/'
  const seen = new MutationObserver(() => {
    const drawn = document.getElementById(SEARCH_ID)
    if (!drawn) return
    seen.disconnect()
    drawn.focus()
  })
  seen.observe(document.body, { childList: true, subtree: true })
}

/**
 * Opens views by two keys, `g` and that of a view, and searches by `/`.
 *
 * @param addresses by the second key.
 */
export function useKeys(addresses: ReadonlyMap<string, string>): void {
  useEffect(() => {
    let begunMs = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey, timeStamp } = event
      if (isTyping(target) || ctrlKey || metaKey || altKey) return
      if (key === '/') {
        event.preventDefault()
        search()
        return
      }
      const address = timeStamp - begunMs < PATIENCE_MS ? addresses.get(key) : undefined
      begunMs = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY
      if (address !== undefined) location.hash = address
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [addresses])
}
