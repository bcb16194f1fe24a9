import { useContext, useEffect, useState } from 'preact/hooks'
import { detailOfError } from './client.ts'
import { isLost, Readings } from './reading.ts'

export interface Live<T> {
  /** The last that was read; it stays while Wharf does not answer. */
  readonly value: T | undefined
  /** Why it was refused; not that Wharf does not answer, which the page around the view says. */
  readonly failure: string | undefined
}

/** Says what there is whenever that changes, until there is nothing more to say, or the connection is lost. */
export type Follow<T> = (signal: AbortSignal) => AsyncIterable<T>

/** While Wharf does not answer, or nobody looks, it is asked less often. */
const RETRY_MS = 3_000

/** After this long, it is tried again to follow what could not be followed. */
const REFUSED_MS = 10_000

/**
 * Reads something again and again, also after a failure, so that a page goes on by itself when Wharf is back.
 *
 * @param key what is read: another key forgets the value.
 * @param pauseMs between two reads; undefined where the value will not change any more.
 * @param keeps whether the value of the last key is shown until that of this one is there: of a list that is searched, or paged.
 * @param follow is told of changes instead, for as long as that goes well and the page can be seen: a browser has few connections,
 *   which tabs that nobody looks at are not to hold.
 */
export function useLive<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  pauseMs: (value: T) => number | undefined,
  keeps = false,
  follow?: Follow<T>,
): Live<T> {
  const [live, setLive] = useState<Live<T> & { readonly key: string }>({ key, value: undefined, failure: undefined })
  const { reportLost, reportEmpty } = useContext(Readings)
  // The functions are new with each drawing; the key says when they differ.
  useEffect(() => {
    const left = new AbortController()
    const reader = {}
    const show = (value: T): void => {
      if (left.signal.aborted) return
      reportLost(reader, false)
      reportEmpty(reader, false)
      setLive({ key, value, failure: undefined })
    }
    const readOn = async (): Promise<void> => {
      for (let refusedUntilMs = 0; !left.signal.aborted; ) {
        let waitMs: number | undefined = RETRY_MS
        let mayFollow = false
        try {
          const value = await read(left.signal)
          show(value)
          waitMs = pauseMs(value)
          mayFollow = !document.hidden && performance.now() >= refusedUntilMs
        } catch (error) {
          if (left.signal.aborted) return
          reportLost(reader, isLost(error))
          if (!isLost(error)) reportEmpty(reader, false)
          const failure = isLost(error) ? undefined : detailOfError(error)
          setLive((last) => ({ key, value: keeps || last.key === key ? last.value : undefined, failure }))
        }
        if (waitMs === undefined) return
        if (follow && mayFollow && !(await wasFollowed(follow, show, left.signal))) {
          refusedUntilMs = performance.now() + REFUSED_MS
        }
        await pause(document.hidden ? Math.max(waitMs, RETRY_MS) : waitMs, left.signal)
      }
    }
    if (!keeps || live.value === undefined) reportEmpty(reader, true)
    void readOn()
    return () => {
      left.abort()
      reportLost(reader, false)
      reportEmpty(reader, false)
    }
  }, [key])
  if (live.key === key) return live
  return { value: keeps ? live.value : undefined, failure: undefined }
}

/** @returns whether anything came, before it ended, broke, or nobody looked any more. */
async function wasFollowed<T>(follow: Follow<T>, show: (value: T) => void, left: AbortSignal): Promise<boolean> {
  const over = new AbortController()
  const end = (): void => {
    if (left.aborted || document.hidden) over.abort()
  }
  left.addEventListener('abort', end)
  document.addEventListener('visibilitychange', end)
  // It may have been left just before.
  end()
  let hasCome = false
  try {
    for await (const value of follow(over.signal)) {
      hasCome = true
      show(value)
    }
  } catch {
    // It is read once more now, which says what is wrong.
  } finally {
    left.removeEventListener('abort', end)
    document.removeEventListener('visibilitychange', end)
  }
  return hasCome
}

/** Until so much time is over, somebody looks at the page again or no more, or it is left. */
const pause = (ms: number, left: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      left.removeEventListener('abort', end)
      document.removeEventListener('visibilitychange', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    left.addEventListener('abort', end)
    document.addEventListener('visibilitychange', end)
  })
