import { useEffect } from 'preact/hooks'

/** For how long a first key waits for the second. */
const PATIENCE_MS = 1_000

/** Where keys are text. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, select, textarea') !== null

/**
 * Opens views by two keys, `g` and that of a view.
 *
 * @param addresses by the second key.
 */
export function useKeys(addresses: ReadonlyMap<string, string>): void {
  useEffect(() => {
    let begunMs = Number.NEGATIVE_INFINITY
    const onKey = ({ key, target, ctrlKey, metaKey, altKey, timeStamp }: KeyboardEvent): void => {
      if (isTyping(target) || ctrlKey || metaKey || altKey) return
      const address = timeStamp - begunMs < PATIENCE_MS ? addresses.get(key) : undefined
      begunMs = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY
      if (address !== undefined) location.hash = address
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [addresses])
}
