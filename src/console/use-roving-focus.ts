import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/**
 * Makes a row of links one stop of the tab key, which arrow keys go through: a page of thirty projects has a thousand nights.
 *
 * @param selector of the links.
 * @param count changes where there are other links.
 * @see https://www.w3.org/WAI/ARIA/apg/practices/keyboard-interface/#kbd_roving_tabindex
 */
export function useRovingFocus<E extends HTMLElement>(selector: string, count: number): RefObject<E | null> {
  const container = useRef<E>(null)
  useEffect(() => {
    const links = (): readonly HTMLElement[] => [...(container.current?.querySelectorAll<HTMLElement>(selector) ?? [])]
    const stopAt = (chosen: HTMLElement | undefined): void => {
      for (const link of links()) link.tabIndex = link === chosen ? 0 : -1
    }
    stopAt(links().at(-1))
    const onKey = (event: KeyboardEvent): void => {
      const all = links()
      const isReversed = getComputedStyle(event.currentTarget as HTMLElement).direction === 'rtl'
      const step = { ArrowLeft: isReversed ? 1 : -1, ArrowRight: isReversed ? -1 : 1 }[event.key]
      const at = all.indexOf(document.activeElement as HTMLElement)
      const next = step === undefined || at === -1 ? undefined : all[at + step]
      if (!next) return
      event.preventDefault()
      stopAt(next)
      next.focus()
    }
    const row = container.current
    row?.addEventListener('keydown', onKey)
    return () => row?.removeEventListener('keydown', onKey)
  }, [selector, count])
  return container
}
