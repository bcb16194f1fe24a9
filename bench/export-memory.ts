import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { timeOf } from './support/statistics.ts'
import { exportToFile } from './support/wharf-client.ts'

/** How many sessions read, beside as many as the service takes by itself. */
const SESSIONS = 4

interface Measured {
  readonly rows: number
  readonly jobs: number | undefined
  readonly seconds: number
  readonly peakBytes: number
}

/**
 * Measures the peak memory of the service for a gzip export, each time in a process that did nothing before.
 *
 * @param sizes numbers of rows, in rising order.
 */
export async function measureExportMemory(bench: BenchRun, sizes: readonly number[]): Promise<Measurement[]> {
  const measured: Measured[] = []
  for (const rows of sizes) {
    await bench.table.fill(rows)
    for (const jobs of [undefined, SESSIONS]) {
      const found = await measure(bench, rows, jobs)
      if (!found) {
        console.log('Memory: not measured, since this system does not tell a process its peak\n')
        return []
      }
      measured.push(found)
    }
  }
  return report(measured)
}

const measure = (
  { withService, outputDir }: BenchRun,
  rows: number,
  jobs: number | undefined,
): Promise<Measured | undefined> =>
  withService(async (service) => {
    const seconds = await timeOf(() => exportToFile(service, 'gzip', join(outputDir, 'result'), { jobs }))
    const peakBytes = await service.peakMemoryBytes()
    return peakBytes === undefined ? undefined : { rows, jobs, seconds, peakBytes }
  })

function report(measured: readonly Measured[]): Measurement[] {
  console.log('Peak memory (VmHWM) of the service for a gzip export\n')
  printTable(
    ['rows', 'sessions', 'seconds', 'MB'],
    measured.map(({ rows, jobs, seconds, peakBytes }) => [
      rows.toLocaleString('en'),
      String(jobs ?? 'by itself'),
      seconds.toFixed(1),
      (peakBytes / 1e6).toFixed(0),
    ]),
  )
  return [
    ...judge(
      measured.filter(({ jobs }) => jobs === undefined),
      BOUNDS.memory,
      BOUNDS.memoryGrowth,
    ),
    ...judge(
      measured.filter(({ jobs }) => jobs === SESSIONS),
      BOUNDS.sessionsMemory,
      BOUNDS.sessionsMemoryGrowth,
    ),
  ]
}

interface MemoryBound {
  readonly sentence: string
  readonly maxBytes: number
}

interface GrowthBound {
  readonly sentence: string
  readonly maxRatio: number
}

function judge(measured: readonly Measured[], memory: MemoryBound, memoryGrowth: GrowthBound): Measurement[] {
  const peaks = measured.map(({ peakBytes }) => peakBytes)
  const [largest, smallest] = [Math.max(...peaks), Math.min(...peaks)]
  return [
    { sentence: memory.sentence, measured: `${(largest / 1e6).toFixed(0)} MB`, holds: largest <= memory.maxBytes },
    {
      sentence: memoryGrowth.sentence,
      measured: `${(largest / smallest).toFixed(2)} times`,
      holds: largest / smallest <= memoryGrowth.maxRatio,
    },
  ]
}
