import { Counter, type Metric } from 'prom-client'
import type { ContentAnswer } from './answer.ts'
import type { ResponseCache } from './response-cache.ts'

/** What this process knows of how often answers were kept, for Prometheus. */
export interface CacheLookups {
  readonly metrics: readonly Metric[]
  /** The same cache, whose look-ups are counted. */
  counting(cache: ResponseCache): ResponseCache
}

/** Counts from zero; each process counts its own look-ups, so that sums over processes are right. */
export function createCacheLookups(): CacheLookups {
  // Numbers, which cost a request less than the client for Prometheus does.
  const counts = { hit: 0, miss: 0 }
  const note = (found: ContentAnswer | undefined): ContentAnswer | undefined => {
    counts[found ? 'hit' : 'miss'] += 1
    return found
  }
  const counter = new Counter({
    name: 'wharf_content_cache_lookups_total',
    help: 'How often an answer about rows was looked for in the cache, and was there or not. 304 needs none.',
    labelNames: ['outcome'],
    registers: [],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(counts)) this.inc({ outcome }, count)
    },
  })
  return {
    metrics: [counter],
    counting: (cache) => ({
      get(key) {
        const found = cache.get(key)
        return found instanceof Promise ? found.then(note) : note(found)
      },
      set: (key, answer) => cache.set(key, answer),
    }),
  }
}
