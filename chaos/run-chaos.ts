import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from './actors/actor.ts'
import { checkUnchanged } from './actors/reader.ts'
import { ageUploads, findLeftovers } from './checks/leftovers.ts'
import { checkProjects } from './checks/projects.ts'
import { type Client, createClient } from './client.ts'
import { injectFaults } from './faults.ts'
import { createHistory, type History } from './history.ts'
import { ACCOUNTS, FLEETING, MIRROR, prepareProjects, SWAPPED } from './projects.ts'
import { createRandom } from './random.ts'
import type { WharfProcess } from './servers/wharf-process.ts'
import { startActors, unfinished } from './start-actors.ts'
import { apiUrls, type Program, startServers } from './start-servers.ts'

/** How long what was under way may take to end once all servers work again, in milliseconds. */
const SETTLING_MS = 240_000

/** How long what died may leave something behind, in milliseconds: longer than sweeps are apart. */
const LEFTOVERS_MS = 90_000

export interface ChaosOptions {
  readonly seed: number
  readonly seconds: number
  /** An empty folder that every user may enter. It is kept for inspection. */
  readonly folder: string
  readonly program?: Program
  readonly report: (what: string) => void
}

export interface ChaosReport {
  /** What must not have happened; empty where all is well. */
  readonly violations: readonly string[]
  readonly counts: ReadonlyMap<string, number>
}

/**
 * Runs two APIs and two workers on a PostgreSQL and a Redis of their own, lets clients use them, and ends, kills and
 * freezes all of them at random. Then lets everything come to rest, and compares what is there with what was
 * acknowledged.
 */
export async function runChaos({ seed, seconds, folder, program, report }: ChaosOptions): Promise<ChaosReport> {
  const history = createHistory()
  const servers = await startServers(folder, history, program)
  const { postgres, redis, processes } = servers
  try {
    const urls = apiUrls(processes)
    let isCalm = true
    const clientOf = (name: string): Client =>
      createClient({
        urls,
        random: createRandom(seed, `client ${name}`),
        isCalm: () => isCalm,
        onViolation: (what) => history.violations.push(what),
      })
    const archives = await prepareProjects(clientOf('setup'))

    isCalm = false
    const until = performance.now() + seconds * 1_000
    const isOver = (): boolean => performance.now() >= until
    const actorOf = (name: string): Actor => ({
      client: clientOf(name),
      history,
      random: createRandom(seed, name),
      isOver,
    })
    const acting = startActors(actorOf, postgres.superuserUrl, archives)
    await injectFaults(servers, createRandom(seed, 'faults'), { isOver, report })
    report('all servers work again')
    isCalm = true
    history.violations.push(...(await unfinished(acting, SETTLING_MS)))

    isCalm = false
    for (const process of processes) await process.stop()
    for (const process of processes) await process.start()
    isCalm = true
    await ageUploads(postgres.superuserUrl)
    history.violations.push(...(await leftoversAfter(LEFTOVERS_MS, postgres.superuserUrl, folder, processes)))
    history.violations.push(...(await checkProjects(history, postgres, archives)))
    for (const project of [ACCOUNTS, MIRROR, SWAPPED, FLEETING]) {
      history.violations.push(...(await checkUnchanged(clientOf('last reader'), { project, table: 'item' })))
    }
    history.violations.push(...neverDone(history))
    for (const process of processes) await process.stop()
  } finally {
    await Promise.allSettled(processes.map((process) => process.kill()))
    await Promise.allSettled([redis.kill(), postgres.stop()])
  }
  return { violations: history.violations, counts: history.counts }
}

/** What has to have been done at least once: where everything was refused, nothing has been tried. */
const NEEDED = [
  'writes to accounts: done',
  'writes to swapped: done',
  'reads: 200',
  'reads: 304',
  'reads of rows that were kept: 304',
  'imports: done',
  'exports: done',
  'transfers: done',
  'projects made and deleted',
]

const neverDone = ({ counts }: History): readonly string[] =>
  NEEDED.filter((what) => !counts.get(what)).map((what) => `never came about: ${what}`)

/** What is left when nothing goes on any more; waits until nothing is, or the time is over. */
async function leftoversAfter(
  limitMs: number,
  superuserUrl: string,
  folder: string,
  processes: readonly WharfProcess[],
): Promise<readonly string[]> {
  const folders = { artifacts: join(folder, 'artifacts'), data: processes.map(({ name }) => join(folder, name)) }
  const until = performance.now() + limitMs
  for (;;) {
    const left = await findLeftovers(superuserUrl, folders)
    if (left.length === 0 || performance.now() > until) return left.map((what) => `left over: ${what}`)
    await sleep(500)
  }
}
