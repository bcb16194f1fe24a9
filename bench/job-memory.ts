import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isRedisInstalled, startRedis } from '../test/support/servers/redis.ts'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { awaitSuccess, downloadArchive, exportAsJob, uploadForImport } from './support/job-client.ts'
import { printTable } from './support/print-table.ts'
import { type BenchService, startService } from './support/start-service.ts'

interface Processes {
  readonly api: BenchService
  readonly worker: BenchService
}

/** What both have had at most when a step has ended, beginning with their start. */
interface Step {
  readonly name: string
  readonly seconds: number
  readonly apiBytes: number
  readonly workerBytes: number
}

/**
 * Measures the peak memory of an API and a worker, each a process of its own, while a table is exported by a job,
 * downloaded, uploaded, and imported by a job.
 */
export async function measureJobMemory(bench: BenchRun, rows: number): Promise<Measurement[]> {
  if (process.platform !== 'linux') {
    console.log('Memory of jobs: not measured, since only Linux tells what a process has had at most\n')
    return []
  }
  await bench.table.fill(rows)
  const redis = isRedisInstalled ? await startRedis() : undefined
  try {
    const steps = await withProcesses(bench, redis?.url, (processes) =>
      measureSteps(processes, join(bench.outputDir, 'archive.jsonl.gz')),
    )
    return report(steps, { rows, queue: redis ? 'Redis' : 'PostgreSQL' })
  } finally {
    await redis?.kill()
  }
}

async function withProcesses<T>(
  { postgres, dataDir }: BenchRun,
  redisUrl: string | undefined,
  use: (processes: Processes) => Promise<T>,
): Promise<T> {
  const options = { databaseUrl: postgres.url, dataDir, redisUrl }
  const api = await startService({ ...options, part: 'api' })
  try {
    const worker = await startService({ ...options, part: 'worker' })
    return await use({ api, worker }).finally(worker.stop)
  } finally {
    await api.stop()
  }
}

async function measureSteps({ api, worker }: Processes, archive: string): Promise<readonly Step[]> {
  const steps: Step[] = []
  const step = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    const result = await run()
    const seconds = (performance.now() - startedAt) / 1000
    const [apiBytes, workerBytes] = await Promise.all([peakOf(api), peakOf(worker)])
    steps.push({ name, seconds, apiBytes, workerBytes })
    return result
  }
  await step('started', async () => undefined)
  const exported = await step('exported', () => exportAsJob(api))
  await step('downloaded', () => downloadArchive(api, exported, archive))
  const importing = await step('uploaded and checked', () => uploadForImport(api, archive))
  await step('imported', () => awaitSuccess(api, importing))
  await rm(archive)
  return steps
}

const peakOf = async (service: BenchService): Promise<number> => (await service.peakMemoryBytes()) ?? Number.NaN

function report(
  steps: readonly Step[],
  { rows, queue }: { readonly rows: number; readonly queue: 'Redis' | 'PostgreSQL' },
): Measurement[] {
  const { jobWorkerMemory, jobApiMemory } = BOUNDS
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
  console.log(`Peak memory (VmHWM) over jobs of ${rows.toLocaleString('en')} rows, with the queue on ${queue}\n`)
  printTable(
    ['step', 'seconds', 'API, MB', 'worker, MB'],
    [
      ...steps.map((step) => [
        step.name,
        step.seconds.toFixed(1),
        megabytes(step.apiBytes),
        megabytes(step.workerBytes),
      ]),
      ['bound', '', megabytes(jobApiMemory.maxBytes), megabytes(jobWorkerMemory.maxBytes)],
    ],
  )
  const measurement = (
    { sentence, maxBytes }: { readonly sentence: string; readonly maxBytes: number },
    peaks: readonly number[],
  ): Measurement => {
    const peak = Math.max(...peaks)
    return { sentence, measured: `${megabytes(peak)} MB`, holds: peak < maxBytes }
  }
  return [
    measurement(
      jobWorkerMemory,
      steps.map(({ workerBytes }) => workerBytes),
    ),
    measurement(
      jobApiMemory,
      steps.map(({ apiBytes }) => apiBytes),
    ),
  ]
}
