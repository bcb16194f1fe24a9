import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const POLLER = fileURLToPath(new URL('./poller.mjs', import.meta.url))

/** What is asked for, again and again; each answer's `x-service-ref` goes with the next request. */
export interface PollTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const polledSchema = z.object({ unchangedMs: z.array(z.number()), failures: z.array(z.string()) })

/** How long each 304 took, in milliseconds, and what is neither that nor a 200. */
export type Polled = z.infer<typeof polledSchema>

/**
 * Polls from a process that does nothing else: in one that has much to do, what an answer waits for there would count as the
 * service's.
 *
 * @param how `connections` for each of the targets; `endsAt` in milliseconds, as `Date.now()` has it. @returns what came of each, in their order.
 */
export async function pollApart(
  targets: readonly PollTarget[],
  how: { readonly connections: number; readonly endsAt: number; readonly maxPauseMs: number },
): Promise<readonly Polled[]> {
  const child = fork(POLLER)
  const exited = once(child, 'exit')
  const messaged = once(child, 'message')
  child.send({ targets, ...how })
  const ended = exited.then(() => {
    throw new Error('the process that polls has ended before it said anything')
  })
  const [message] = await Promise.race([messaged, ended])
  await exited
  return z.array(polledSchema).parse(message)
}
