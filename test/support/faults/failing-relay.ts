import { startTcpRelay } from '../servers/tcp-relay.ts'
import { createCallCounter, type FailPoint } from './fail-point.ts'

/** Reads what a client sends over one connection. @returns how many calls end in this chunk. */
export type CallReader = (chunk: Buffer) => number

export interface FailingRelay extends FailPoint {
  /** The URL that was given, by way of the relay. */
  readonly url: string
  close(): Promise<void>
}

/** Stands before a server; a call fails by the end of the connection that it came over. */
export async function startFailingRelay(url: string, openReader: () => CallReader): Promise<FailingRelay> {
  const counter = createCallCounter()
  /** What breaks a connection on which an answer is not to come. */
  const unanswered = new Set<() => void>()
  const relay = await startTcpRelay(url, (breakOff) => {
    const callsIn = openReader()
    const count = (calls: number) => Array.from({ length: calls }, counter.count).find((lost) => lost)
    return {
      asks(chunk) {
        const lost = count(callsIn(chunk))
        if (lost === 'answer') unanswered.add(breakOff)
        if (lost === 'call') breakOff()
        return lost !== 'call'
      },
      answers() {
        if (!unanswered.delete(breakOff)) return true
        breakOff()
        return false
      },
    }
  })
  return {
    url: relay.url,
    arm: counter.arm,
    disarm() {
      for (const breakOff of unanswered) breakOff()
      unanswered.clear()
      return counter.disarm()
    },
    close: relay.cut,
  }
}
