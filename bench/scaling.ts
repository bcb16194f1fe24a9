import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { remove } from './support/dump-commands.ts'
import { measureInTurns, type Way } from './support/in-turns.ts'
import { printTable } from './support/print-table.ts'
import { median } from './support/statistics.ts'
import { exportToFile, importFile } from './support/wharf-client.ts'
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
}

/**
 * Exports and restores with more and more sessions, beside `pg_dump -j` and `pg_restore -j`, and compares exports with what the
 * processor time of one says that they take (`modelSeconds`).
 */
export const measureScaling = (
  bench: BenchRun,
  { rows, repeats = REPEATS }: { readonly rows: number | undefined; readonly repeats: number | undefined },
): Promise<Measurement[]> =>
  withSampleDatabase(bench, rows, async ({ service, commands }) => {
    const path = (name: string): string => join(bench.outputDir, name)
    const [archive, dump, folder] = [path('scaling.jsonl.gz'), path('scaling.dump'), path('folder')]
    const cores = availableParallelism()
    const jobs = JOBS.filter((count) => count <= cores)
    const costs: Cost[] = []
    const exportOf = (count: number): Way => ({
      name: `Wharf export, ${count} sessions`,
      async run() {
        const [postgres, own] = [await bench.postgres.processorTime(), await service.processorTime()]
        await exportToFile(service, 'gzip', archive, { jobs: count })
        const after = await service.processorTime()
        if (count > 1) return
        costs.push({
          postgres: (await bench.postgres.processorTime()) - postgres,
          service: after.all - own.all,
          mainThread: after.mainThread - own.mainThread,
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
      return { name: `pg_restore -j${count}`, prepare: commands.makeTarget, run }
    })
    const wharfImport: Way = {
      name: 'Wharf import',
      prepare: commands.makeTarget,
      run: () => importFile(service, archive),
    }
    await commands.dumpCustom(dump)
    const results = await measureInTurns([...exports, ...dumps, wharfImport, ...restores], repeats)
    const secondsOf = (way: Way | undefined): number => median((way && results.get(way)?.seconds) ?? [])
    const cost: Cost = {
      postgres: median(costs.map(({ postgres }) => postgres)),
      service: median(costs.map((each) => each.service)),
      mainThread: median(costs.map(({ mainThread }) => mainThread)),
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
    console.log(
      `Processor time of one export in one session: PostgreSQL ${cost.postgres.toFixed(2)} s, the service ` +
        `${cost.service.toFixed(2)} s, of which ${cost.mainThread.toFixed(2)} s in one thread\n`,
    )
    const off = Math.max(...exports.map((way, index) => Math.abs(secondsOf(way) / (models[index] ?? Number.NaN) - 1)))
    const { sentence, maxOff } = BOUNDS.scalingModel
    return [{ sentence, measured: `${(100 * off).toFixed(0)} %`, holds: off <= maxOff }]
  })

/**
 * What bounds an export: PostgreSQL, where each session has one process; the thread that makes the archive, of which there is
 * one; and all the work together, which no more processors share than there are.
 */
const modelSeconds = ({ postgres, service, mainThread }: Cost, sessions: number, cores: number): number =>
  Math.max(postgres / sessions, mainThread, (postgres + service) / cores)
