import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '../test/support/servers/redis.ts'
import type { Random } from './random.ts'
import type { Postgres } from './servers/postgres.ts'
import type { WharfProcess } from './servers/wharf-process.ts'

export interface Servers {
  readonly postgres: Postgres
  readonly redis: RedisServer
  readonly processes: readonly [WharfProcess, ...WharfProcess[]]
}

/** How long something may stay away or frozen, in milliseconds; below what makes a worker end itself. */
const MAX_AWAY_MS = 2_500
const MAX_FROZEN_MS = 5_000

/** Between the beginnings of two faults, in milliseconds: long enough for work to be done in. */
const PAUSE_MS = [500, 4_000] as const

/** What happens to one server: it ends when that one works again. */
type Fault = () => Promise<void>

/**
 * Ends, kills and freezes servers until the time is over, at most one fault at a time for each, and lets them work again.
 *
 * @param report called with each fault as it begins.
 */
export async function injectFaults(
  { postgres, redis, processes }: Servers,
  random: Random,
  { isOver, report }: { readonly isOver: () => boolean; readonly report: (what: string) => void },
): Promise<void> {
  const underWay = new Map<string, Promise<void>>()
  const away = (): Promise<void> => sleep(random.between(0, MAX_AWAY_MS))
  const frozenMs = (): number => random.between(200, MAX_FROZEN_MS)

  const faultsOf = (process: WharfProcess): readonly [string, string, Fault][] => [
    [process.name, 'killed', () => process.kill().then(away).then(process.start)],
    [process.name, 'killed', () => process.kill().then(away).then(process.start)],
    [process.name, 'frozen', () => process.freeze(frozenMs())],
    [process.name, 'told to stop', () => process.stop().then(away).then(process.start)],
  ]
  const faults: readonly (readonly [string, string, Fault])[] = [
    ...processes.flatMap(faultsOf),
    ['PostgreSQL', 'crashed', () => postgres.crash().then(away).then(postgres.start)],
    ['PostgreSQL', 'lost a backend', postgres.killBackend],
    ['PostgreSQL', 'frozen', () => postgres.freeze(frozenMs())],
    ['PostgreSQL', 'ended half of its sessions', () => postgres.endSessions(0.5)],
    ['Redis', 'killed', () => redis.kill().then(away).then(redis.start)],
    ['Redis', 'frozen', () => redis.freeze(frozenMs())],
    ['Redis', 'emptied', redis.empty],
  ]
  let failure: unknown
  while (!isOver() && failure === undefined) {
    const [target, what, fault] = random.pick([...faults] as [(typeof faults)[number], ...(typeof faults)[number][]])
    if (!underWay.has(target)) {
      report(`${target} ${what}`)
      const over = fault()
        .catch((error: unknown) => {
          failure ??= error
        })
        .finally(() => underWay.delete(target))
      underWay.set(target, over)
    }
    await sleep(random.between(...PAUSE_MS))
  }
  await Promise.all(underWay.values())
  if (failure !== undefined) throw failure
}
