import { useEffect, useState } from 'preact/hooks'
import { detailOfError } from './client.ts'

export interface Live<T> {
  /** The last that was read; it stays while Wharf does not answer. */
  readonly value: T | undefined
  readonly failure: string | undefined
}

/** While Wharf does not answer, it is asked less often. */
const RETRY_MS = 3_000

/**
 * Reads something again and again, also after a failure, so that a page goes on by itself when Wharf is back.
 *
 * @param key what is read: another key forgets the value.
 * @param pauseMs between two reads; undefined where the value will not change any more.
 * @param keeps whether the value of the last key is shown until that of this one is there: of a list that is searched, or paged.
 */
export function useLive<T>(
  key: string,
  read: (signal: AbortSignal) => Promise<T>,
  pauseMs: (value: T) => number | undefined,
  keeps = false,
): Live<T> {
  const [live, setLive] = useState<Live<T> & { readonly key: string }>({ key, value: undefined, failure: undefined })
  // Both functions are new with each drawing; the key says when they differ.
  useEffect(() => {
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const next = async (): Promise<void> => {
      let wait: number | undefined = RETRY_MS
      try {
        const value = await read(left.signal)
        if (left.signal.aborted) return
        setLive({ key, value, failure: undefined })
        wait = pauseMs(value)
      } catch (error) {
        if (left.signal.aborted) return
        const failure = detailOfError(error)
        setLive((last) => ({ key, value: keeps || last.key === key ? last.value : undefined, failure }))
      }
      if (wait !== undefined) timer = setTimeout(() => void next(), wait)
    }
    void next()
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [key])
  if (live.key === key) return live
  return { value: keeps ? live.value : undefined, failure: undefined }
}
