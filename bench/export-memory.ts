import { join } from 'node:path'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { timeOf } from './support/statistics.ts'
import { exportToFile } from './support/wharf-client.ts'

interface Measured {
  readonly rows: number
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
    const found = await measure(bench, rows)
    if (!found) {
      console.log('Memory: not measured, since this system does not tell a process its peak\n')
      return []
    }
    measured.push(found)
  }
  return report(measured)
}

const measure = ({ withService, outputDir }: BenchRun, rows: number): Promise<Measured | undefined> =>
  withService(async (service) => {
    const seconds = await timeOf(() => exportToFile(service, 'gzip', join(outputDir, 'result')))
    const peakBytes = await service.peakMemoryBytes()
    return peakBytes === undefined ? undefined : { rows, seconds, peakBytes }
  })

function report(measured: readonly Measured[]): Measurement[] {
  const peaks = measured.map(({ peakBytes }) => peakBytes)
  const [largest, smallest] = [Math.max(...peaks), Math.min(...peaks)]
  console.log('Peak memory (VmHWM) of the service for a gzip export\n')
  printTable(
    ['rows', 'seconds', 'MB', 'ratio'],
    measured.map(({ rows, seconds, peakBytes }) => [
      rows.toLocaleString('en'),
      seconds.toFixed(1),
      (peakBytes / 1e6).toFixed(0),
      (peakBytes / (peaks[0] ?? Number.NaN)).toFixed(2),
    ]),
  )
  const { memory, memoryGrowth } = BOUNDS
  return [
    { sentence: memory.sentence, measured: `${(largest / 1e6).toFixed(0)} MB`, holds: largest <= memory.maxBytes },
    {
      sentence: memoryGrowth.sentence,
      measured: `${(largest / smallest).toFixed(2)} times`,
      holds: largest / smallest <= memoryGrowth.maxRatio,
    },
  ]
}
