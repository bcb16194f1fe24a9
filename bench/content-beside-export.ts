import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { request } from 'undici'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { createCommands } from './support/commands.ts'
import { CONNECTIONS, type Figures, fire } from './support/fire.ts'
import { printTable } from './support/print-table.ts'
import { SAMPLE_TABLE } from './support/sample-table.ts'
import { median } from './support/statistics.ts'
import { createToken, exportToFile, PROJECT } from './support/wharf-client.ts'
import { whileRepeated } from './support/while-repeated.ts'

const REPEATS = 5
const SECONDS = 4

/** What goes on beside the reads. */
type Load = 'nothing' | 'export' | 'copy'

type Read = 'unchanged' | 'cached'

/**
 * Measures answers about rows while the same process exports with all sessions, beside an idle service on a machine on which
 * COPY of the same rows is piped through gzip. Both take turns.
 */
export async function measureContentBesideExport(bench: BenchRun): Promise<Measurement[]> {
  const { jsonGzip } = createCommands(bench.postgres, bench.table.schemaName)
  const path = join(bench.outputDir, 'beside')
  return bench.withService(async (service) => {
    const headers = { authorization: `Bearer ${await createToken(service, 'viewer')}` }
    const url = `${service.url}/content/${PROJECT}/live/${SAMPLE_TABLE}?order=id&limit=20`
    const { headers: answered, body } = await request(url, { headers })
    await body.dump()
    const reads: Readonly<Record<Read, Readonly<Record<string, string>>>> = {
      unchanged: { ...headers, 'x-service-ref': String(answered['x-service-ref']) },
      cached: headers,
    }
    const loads: Readonly<Record<Load, () => Promise<void>>> = {
      nothing: () => setTimeout(100),
      export: () => exportToFile(service, 'gzip', path),
      copy: () => jsonGzip(path),
    }
    const figures = new Map<string, Figures[]>()
    for (let round = 0; round <= REPEATS; round += 1) {
      for (const load of ['nothing', 'export', 'copy'] as const) {
        for (const read of ['unchanged', 'cached'] as const) {
          const figure = await whileRepeated(loads[load], () => fire(url, reads[read], SECONDS))
          // The first round warms all of it up.
          if (round > 0) figures.set(nameOf(read, load), [...(figures.get(nameOf(read, load)) ?? []), figure])
        }
      }
    }
    return report(figures)
  })
}

const nameOf = (read: Read, load: Load): string => `${read} ${load}`

function report(figures: ReadonlyMap<string, readonly Figures[]>): Measurement[] {
  const of = (read: Read, load: Load): Figures => {
    const all = figures.get(nameOf(read, load)) ?? []
    return {
      perSecond: median(all.map(({ perSecond }) => perSecond)),
      p99Ms: median(all.map(({ p99Ms }) => p99Ms)),
    }
  }
  const line = (name: string, read: Read, load: Load): string[] => {
    const { perSecond, p99Ms } = of(read, load)
    return [name, Math.round(perSecond).toString(), p99Ms.toFixed(0)]
  }
  printTable(
    [`${CONNECTIONS} connections`, 'answers/s', 'p99 ms'],
    (['unchanged', 'cached'] as const).flatMap((read) => {
      const name = read === 'unchanged' ? '304' : 'cached 200'
      return [
        line(name, read, 'nothing'),
        line(`${name}, beside an export of the same process`, read, 'export'),
        line(`${name}, beside COPY as JSON | gzip -1`, read, 'copy'),
      ]
    }),
  )
  const share = Math.min(
    ...(['unchanged', 'cached'] as const).map((read) => of(read, 'export').perSecond / of(read, 'copy').perSecond),
  )
  const slowest = Math.max(...(['unchanged', 'cached'] as const).map((read) => of(read, 'export').p99Ms))
  const { besideExport, besideExportDelay } = BOUNDS
  return [
    { sentence: besideExport.sentence, measured: share.toFixed(2), holds: share >= besideExport.minRatio },
    {
      sentence: besideExportDelay.sentence,
      measured: `${slowest.toFixed(0)} ms`,
      holds: slowest < besideExportDelay.maxMs,
    },
  ]
}
