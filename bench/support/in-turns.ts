import { timeOf } from './statistics.ts'

/** One way to do what others do, too. */
export interface Way {
  readonly name: string
  /** What `run` needs, which takes no part in its time. */
  prepare?(): Promise<void>
  run(): Promise<void>
  /** Does what `run` leaves to be done later, which would be done while something else is measured. */
  settle?(): Promise<void>
  /** How many bytes it has made, where it makes a file. */
  bytes?(): Promise<number>
}

export interface WayResult {
  readonly seconds: number[]
  bytes: number | undefined
}

/**
 * Runs each way as often, one after the other in turns, so that what else the machine does meets them all alike. The first round,
 * in which code is compiled and files come to memory, does not count.
 */
export async function measureInTurns(ways: readonly Way[], repeats: number): Promise<ReadonlyMap<Way, WayResult>> {
  const results = new Map(ways.map((way): [Way, WayResult] => [way, { seconds: [], bytes: undefined }]))
  for (let round = 0; round <= repeats; round += 1) {
    for (const [way, result] of results) {
      await way.prepare?.()
      const seconds = await timeOf(() => way.run())
      if (round > 0) result.seconds.push(seconds)
      result.bytes = await way.bytes?.()
      await way.settle?.()
    }
  }
  return results
}

/** By round, how much longer one way took than the other of the same round. */
export const ratiosTo = (seconds: readonly number[], reference: readonly number[]): number[] =>
  seconds.map((each, round) => each / (reference[round] ?? Number.NaN))
