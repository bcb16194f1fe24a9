import { LRUCache } from 'lru-cache'
import type { ContentAnswer } from './answer.ts'

/** Keeps answers under keys that contain the reference: nothing in it ever becomes wrong, only useless. */
export interface ResponseCache {
  /** @returns undefined where the answer is not known, and where the cache does not work. Never throws. */
  get(key: string): ContentAnswer | undefined | Promise<ContentAnswer | undefined>
  /** Never throws, and is nothing to wait for. */
  set(key: string, answer: ContentAnswer): void
}

/** How many bytes a process may keep of answers, in its own memory. */
export const MAX_CACHE_BYTES = 64 * 1024 * 1024

/** What memory an answer takes beside its body, roughly. */
const OVERHEAD_BYTES = 500

/** Answers larger than this part of the cache would push out too many others. */
const MAX_SHARE = 1 / 8

/** @param maxBytes of all answers together. */
export function createMemoryCache(maxBytes: number): ResponseCache {
  const answers = new LRUCache<string, ContentAnswer>({
    maxSize: maxBytes,
    maxEntrySize: maxBytes * MAX_SHARE,
    sizeCalculation: (answer, key) => answer.body.byteLength + key.length + OVERHEAD_BYTES,
  })
  return {
    get: (key) => answers.get(key),
    set: (key, answer) => void answers.set(key, answer),
  }
}

/** Looks into the nearer cache first, and keeps there what the farther one had. */
export const layerCaches = (near: ResponseCache, far: ResponseCache): ResponseCache => ({
  get: (key) => near.get(key) ?? getFar(near, far, key),
  set(key, answer) {
    near.set(key, answer)
    far.set(key, answer)
  },
})

async function getFar(near: ResponseCache, far: ResponseCache, key: string): Promise<ContentAnswer | undefined> {
  const answer = await far.get(key)
  if (answer) near.set(key, answer)
  return answer
}
