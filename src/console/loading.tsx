import { useEffect, useState } from 'preact/hooks'

/** What comes sooner is not announced: to see it come and go says less than to see nothing. */
const DELAY_MS = 300

/** Says that something is being loaded, once that takes a while. */
export function Loading({ isLoading }: { readonly isLoading: boolean }) {
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    setLong(false)
    if (!isLoading) return
    const timer = setTimeout(setLong, DELAY_MS, true)
    return () => clearTimeout(timer)
  }, [isLoading])
  // There before it has a text: screen readers tell what changes.
  return (
    <p class="quiet" role="status">
      {isLoading && isLong && 'Loading …'}
    </p>
  )
}
