import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { remove } from './support/dump-commands.ts'
import { measureInTurns, type Way } from './support/in-turns.ts'
import { printTable } from './support/print-table.ts'
import { busyTime, endedChildren } from './support/processor-time.ts'
import { median } from './support/statistics.ts'
import { exportToFile, importFile, timeToOpen } from './support/wharf-client.ts'
import { withSampleDatabase } from './support/with-sample-database.ts'

const REPEATS = 5

/** How many sessions or processes are tried, as far as the machine has processors. */
const JOBS = [1, 2, 4, 8]

/** Processor time of one export in one session, in seconds. */
interface Cost {
  readonly postgres: number
  readonly service: number
  /** Of `service`, what the thread takes that makes the archive. */
  readonly mainThread: number
  /** Of who takes the archive, and puts it into a file: `curl`, on the same machine. */
  readonly client: number
  /** Until the first byte comes: one thing after the other, so that one processor has nothing to do. */
  readonly opening: number
}

/**
 * Exports and restores with more and more sessions, beside `pg_dump -j` and `pg_restore -j`, and compares exports with what the
 * processor time of one says that they take (`modelSeconds`).
 */
export const measureScaling = (
  bench: BenchRun,
  { rows, repeats = REPEATS }: { readonly rows: number | undefined; readonly repeats: number | undefined },
): Promise<Measurement[]> =>
  withSampleDatabase(bench, rows, async ({ service, settleImport, commands }) => {
    const path = (name: string): string => join(bench.outputDir, name)
    const [archive, dump, folder] = [path('scaling.jsonl.gz'), path('scaling.dump'), path('folder')]
    const cores = availableParallelism()
    const jobs = JOBS.filter((count) => count <= cores)
    const taken = new Map<number, Taken[]>(jobs.map((count) => [count, []]))
    const readClocks = async () => ({
      postgres: await bench.postgres.processorTime(),
      service: await service.processorTime(),
      client: await endedChildren(),
      busy: await busyTime(),
    })
    const exportOf = (count: number): Way => ({
      name: `Wharf export, ${count} sessions`,
      async run() {
        const before = await readClocks()
        await exportToFile(service, 'gzip', archive, { jobs: count })
        const after = await readClocks()
        const cost: Cost = {
          postgres: after.postgres - before.postgres,
          service: after.service.all - before.service.all,
          mainThread: after.service.mainThread - before.service.mainThread,
          client: after.client - before.client,
          opening: await timeToOpen(service),
        }
        taken.get(count)?.push({
          cost,
          others: after.busy - before.busy - cost.postgres - cost.service - cost.client,
        })
      },
    })
    const exports = jobs.map(exportOf)
    const dumps = jobs.map((count): Way => {
      const run = () => commands.dumpFolder(folder, count)
      return { name: `pg_dump -Fd -Z1 -j${count}`, prepare: () => remove(folder), run }
    })
    const restores = jobs.map((count): Way => {
      const run = () => commands.restore(dump, count)
      return { name: `pg_restore -j${count}`, prepare: commands.makeTarget, run, settle: commands.dropTarget }
    })
    const wharfImport: Way = {
      name: 'Wharf import',
      prepare: commands.settle,
      run: () => importFile(service, archive),
      settle: settleImport,
    }
    await commands.dumpCustom(dump)
    const results = await measureInTurns([...exports, ...dumps, wharfImport, ...restores], repeats)
    const secondsOf = (way: Way | undefined): number => median((way && results.get(way)?.seconds) ?? [])
    // The first round warms all of it up.
    const ofOne = (taken.get(1) ?? []).slice(1).map(({ cost }) => cost)
    const middle = (part: keyof Cost): number => median(ofOne.map((cost) => cost[part]))
    const cost: Cost = {
      postgres: middle('postgres'),
      service: middle('service'),
      mainThread: middle('mainThread'),
      client: middle('client'),
      opening: middle('opening'),
    }
    const models = jobs.map((count) => modelSeconds(cost, count, cores))
    const row = (way: Way, first: Way | undefined, model?: number): string[] => [
      way.name,
      secondsOf(way).toFixed(2),
      (secondsOf(first) / secondsOf(way)).toFixed(2),
      model === undefined ? '' : model.toFixed(2),
    ]
    printTable(
      [`${cores} processors`, 'seconds', 'times as fast as one', 'model'],
      [
        ...exports.map((way, index) => row(way, exports[0], models[index])),
        ...dumps.map((way) => row(way, dumps[0])),
        row(wharfImport, wharfImport),
        ...restores.map((way) => row(way, restores[0])),
      ],
    )
    const others = jobs.map((count) => median((taken.get(count) ?? []).slice(1).map((each) => each.others)))
    console.log(
      `Processor time of one export in one session: PostgreSQL ${cost.postgres.toFixed(2)} s, the service ` +
        `${cost.service.toFixed(2)} s, of which ${cost.mainThread.toFixed(2)} s in one thread, curl ${cost.client.toFixed(2)} s; ` +
        `${cost.opening.toFixed(2)} s until the first byte. ` +
        `All else on the machine took ${others.map((seconds) => seconds.toFixed(2)).join(', ')} s meanwhile\n`,
    )
    const off = Math.max(...exports.map((way, index) => Math.abs(secondsOf(way) / (models[index] ?? Number.NaN) - 1)))
    const { sentence, maxOff } = BOUNDS.scalingModel
    return [{ sentence, measured: `${(100 * off).toFixed(0)} %`, holds: off <= maxOff }]
  })

/** What one export took, and what other programs had of the processors meanwhile: a quiet machine gives them next to nothing. */
interface Taken {
  readonly cost: Cost
  readonly others: number
}

/**
 * What bounds an export, once it has been opened: PostgreSQL, where each session has one process; the thread that makes the archive,
 * of which there is one; and all the work together, which no more processors share than there are.
 */
const modelSeconds = (
  { postgres, service, mainThread, client, opening }: Cost,
  sessions: number,
  cores: number,
): number => opening + Math.max(postgres / sessions, mainThread, (postgres + service + client - opening) / cores)
