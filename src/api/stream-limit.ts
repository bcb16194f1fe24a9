import { AppError } from '../errors.ts'

/** Bounds how many streams of events there are at once: each holds a connection, and has the database asked again and again. */
export interface StreamLimit {
  /**
   * Counts a stream that begins.
   *
   * @param tokenId null for the root token.
   * @returns says that it has ended; to be called once.
   * @throws {AppError} TOO_MANY_REQUESTS where the token has as many as it may have, or all have together.
   */
  open(tokenId: string | null): () => void
}

export interface StreamLimitOptions {
  readonly perToken: number
  /** In this process. */
  readonly inAll: number
}

/** When it is worth asking again. */
const RETRY_SECONDS = 5

export function createStreamLimit({ perToken, inAll }: StreamLimitOptions): StreamLimit {
  const streams = new Map<string | null, number>()
  let all = 0
  return {
    open(tokenId) {
      const own = streams.get(tokenId) ?? 0
      if (own >= perToken) throw tooMany('this token has')
      if (all >= inAll) throw tooMany('this process has')
      streams.set(tokenId, own + 1)
      all += 1
      return () => {
        const left = (streams.get(tokenId) ?? 1) - 1
        if (left > 0) streams.set(tokenId, left)
        else streams.delete(tokenId)
        all -= 1
      }
    },
  }
}

const tooMany = (who: string): AppError =>
  new AppError(
    'TOO_MANY_REQUESTS',
    `${who} as many streams of events as it may have; close some, or ask now and then`,
    {
      retryAfterSeconds: RETRY_SECONDS,
    },
  )
