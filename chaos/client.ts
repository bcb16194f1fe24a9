import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { Random } from './random.ts'
import { ROOT_TOKEN } from './servers/wharf-process.ts'

/** How long an answer may take before a client gives up, in milliseconds. */
const PATIENCE_MS = 20_000

/** What a server may say of itself: that it has no time, or no room. */
const EXPECTED_FAILURES = [503, 504, 507]

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  readonly body?: Buffer | string
  /** The root token where it is missing. */
  readonly token?: string
}

/** What a client knows of what it asked for. */
export type Outcome = 'done' | 'refused' | 'unknown'

export interface Client {
  /**
   * Asks one of the APIs.
   *
   * @returns undefined where no whole answer came.
   */
  ask(call: Call): Promise<Answer | undefined>
  /** Asks again, also another API, until it is answered by something else than that it should try later. */
  askUntilAnswered(call: Call): Promise<Answer>
}

export interface ClientOptions {
  /** Of the APIs; each call chooses one. */
  readonly urls: readonly [string, ...string[]]
  readonly random: Random
  /** Whether all servers work, and go on doing so. */
  readonly isCalm: () => boolean
  /** Called with each violation that no server failure excuses. */
  readonly onViolation: (what: string) => void
}

export function createClient({ urls, random, isCalm, onViolation }: ClientOptions): Client {
  const ask = async ({ method, path, headers = {}, json, body, token = ROOT_TOKEN }: Call) => {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const isExcused = !isCalm()
    try {
      const answer = await request(random.pick(urls) + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: json === undefined ? (body ?? null) : JSON.stringify(json),
        signal,
      })
      const bytes = Buffer.from(await answer.body.arrayBuffer())
      if (answer.statusCode >= 500 && !EXPECTED_FAILURES.includes(answer.statusCode)) {
        onViolation(`${method} ${path} answered ${answer.statusCode}: ${bytes.toString().slice(0, 500)}`)
      }
      return { status: answer.statusCode, headers: answer.headers, body: bytes }
    } catch {
      // The connection broke, or nobody answered in time: that is to be expected while a server is away or frozen.
      if (signal.aborted && !isExcused) onViolation(`${method} ${path} was not answered, though all servers work`)
      await sleep(random.between(20, 200))
      return undefined
    }
  }
  return {
    ask,
    async askUntilAnswered(call) {
      for (;;) {
        const answer = await ask(call)
        if (answer && answer.status < 500 && answer.status !== 429) return answer
        await sleep(random.between(50, 500))
      }
    },
  }
}

/** A refusal is final; of anything but an answer, nobody knows what became of it. */
export function outcomeOf(answer: Answer | undefined): Outcome {
  if (!answer || answer.status >= 500) return 'unknown'
  return answer.status < 300 ? 'done' : 'refused'
}

export const headerOf = (answer: Answer | undefined, name: string): string | undefined => {
  const value = answer?.headers[name]
  return typeof value === 'string' ? value : undefined
}

export const textOf = (answer: Answer | undefined): string => answer?.body.toString() ?? 'no answer'
