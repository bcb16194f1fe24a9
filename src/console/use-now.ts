import { useEffect, useState } from 'preact/hooks'

/** How often what is said in words is looked at again. */
const TICK_MS = 1_000

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** The time of now, in milliseconds since 1970, again each second. All that show it share one timer. */
export function useNow(): number {
  const [nowMs, setNow] = useState(Date.now)
  useEffect(() => {
    const tick = (): void => setNow(Date.now())
    listeners.add(tick)
    timer ??= setInterval(() => {
      for (const listener of listeners) listener()
    }, TICK_MS)
    return () => {
      listeners.delete(tick)
      if (listeners.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return nowMs
}
