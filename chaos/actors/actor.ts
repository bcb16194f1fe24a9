import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client.ts'
import type { History } from '../history.ts'
import type { Random } from '../random.ts'

/** What clients of the service do, over and over, until the time is over. */
export interface Actor {
  readonly client: Client
  readonly history: History
  readonly random: Random
  isOver(): boolean
}

/** Repeats an act until the time is over; one that has begun is ended. */
export async function act({ isOver, random }: Actor, pauseMs: number, once: () => Promise<void>): Promise<void> {
  while (!isOver()) {
    await once()
    await sleep(random.between(0, 2 * pauseMs))
  }
}

export const now = (): number => performance.now()
