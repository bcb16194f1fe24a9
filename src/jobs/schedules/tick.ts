import { setTimeout as delay } from 'node:timers/promises'
import { readClock } from '../../database/clock.ts'
import { databaseTrouble } from '../../database/sqlstate-meanings.ts'
import type { SubmitServices } from '../submit.ts'
import { fireDue } from './fire.ts'
import { settleRuns } from './settle.ts'

const TICK_MS = 1_000

/**
 * Looks every second which schedules are due, and how their runs have ended. Each process does; which of them finds a
 * schedule due first does not matter.
 *
 * @returns what ends it, and waits until it has.
 */
export function startSchedules(services: SubmitServices): { close(): Promise<void> } {
  const stop = new AbortController()
  const ticking = tickUntil(services, stop.signal)
  return {
    close() {
      stop.abort()
      return ticking
    },
  }
}

async function tickUntil(services: SubmitServices, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await tick(services)
    // Aborting is the only way for it to fail.
    await delay(TICK_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function tick(services: SubmitServices): Promise<void> {
  const { control, logger } = services
  try {
    const now = await readClock(control.prisma)
    await settleRuns(services, now)
    await fireDue(services, now)
  } catch (error) {
    const level = databaseTrouble(error) ? 'debug' : 'warn'
    logger[level]({ err: error }, 'schedules could not be looked at; it is tried again')
  }
}
