import type { ContentAccess } from './admission.ts'
import { type ContentAnswer, compress } from './answer.ts'
import type { RowsRead } from './read-rows.ts'
import type { ResponseCache } from './response-cache.ts'
import { createSingleFlight } from './single-flight.ts'

export interface Answered {
  readonly answer: ContentAnswer
  /** Whether the answer was known for this reference. */
  readonly hit: boolean
}

export interface ReadRequest {
  /** All of the request that the answer depends on, in one form for all requests that mean the same. */
  readonly canonical: string
  readonly gzip: boolean
}

/** Gives an answer that is known for the caller's reference, or makes it, once for all who ask at the same time. */
export type KeptAnswers = (
  access: ContentAccess,
  request: ReadRequest,
  read: () => Promise<RowsRead>,
) => Promise<Answered>

/** @param cache keeps each answer that the stage's log sees. */
export function createKeptAnswers(cache: ResponseCache): KeptAnswers {
  const inFlight = createSingleFlight<ContentAnswer>()
  return async (access, request, read) => {
    const key = keyOf(access, access.version.reference, request)
    const known = await cache.get(key)
    if (known) return { answer: known, hit: true }
    const answer = await inFlight(key, async () => {
      const { answer: ready, unseen } = await inCoding(request, read)
      // Under the reference that it was read with, which may be newer than the one that was asked with.
      if (access.isSeen && !unseen) cache.set(keyOf(access, ready.reference, request), ready)
      return ready
    })
    return { answer, hit: false }
  }
}

/** Makes an answer for one request alone: nobody is given what was read before they asked. */
export async function freshAnswer(request: ReadRequest, read: () => Promise<RowsRead>): Promise<Answered> {
  const { answer } = await inCoding(request, read)
  return { answer, hit: false }
}

async function inCoding({ gzip }: ReadRequest, read: () => Promise<RowsRead>): Promise<RowsRead> {
  const found = await read()
  return gzip ? { ...found, answer: await compress(found.answer) } : found
}

/** Everything that an answer depends on. The rights of the caller are part of it, the caller is not. */
const keyOf = ({ stage, rights }: ContentAccess, reference: string, { canonical, gzip }: ReadRequest): string =>
  `${stage.id}\n${reference}\n${rights}\n${gzip ? 'gzip' : 'identity'}\n${canonical}`
