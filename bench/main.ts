/**
 * Measures what we claim about exports, imports, writes, jobs and the content endpoint; exits with 1 where a bound of
 * `bounds.ts` is broken.
 *
 * Usage: npm run bench -- [time] [import] [waits] [attached] [memory] [writes] [mixed] [content] [beside] [application]
 *   [jobs] [job-memory] [database] [scaling] [year] [console] [--quick] [--rows 1000000,3000000,10000000] [--repeats 5]
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { measureApplicationWait } from './application-wait.ts'
import { measureAttachedWait } from './attached-wait.ts'
import type { Measurement } from './bounds.ts'
import { measureConsole } from './console.ts'
import { measureContent } from './content.ts'
import { measureContentBesideExport } from './content-beside-export.ts'
import { measureDatabase } from './database.ts'
import { measureExportMemory } from './export-memory.ts'
import { measureExportTime } from './export-time.ts'
import { measureImport } from './import-time.ts'
import { measureImportWait } from './import-wait.ts'
import { measureJobMemory } from './job-memory.ts'
import { measureJobThroughput } from './job-throughput.ts'
import { measureMixed } from './mixed.ts'
import { measureScaling } from './scaling.ts'
import { type BenchRun, serviceRunner } from './support/bench-run.ts'
import { findSampleTable, SAMPLE_SCHEMA } from './support/sample-table.ts'
import { type Settings, startPostgres } from './support/start-postgres.ts'
import { createProject } from './support/wharf-client.ts'
import { measureWriteCost } from './write-cost.ts'
import { measureYear } from './year.ts'

const SIZES = [1_000_000, 3_000_000, 10_000_000]
const QUICK_SIZES = [100_000]
/** The claims about the memory that jobs take are for this many rows. */
const JOB_ROWS = 3_000_000
const MIXED_ROWS = 50_000
/** Those that share a PostgreSQL and its rows. */
const SHARING_PARTS = ['time', 'content', 'beside', 'application', 'jobs', 'memory']
const PARTS = [
  ...SHARING_PARTS,
  'writes',
  'mixed',
  'job-memory',
  'import',
  'waits',
  'attached',
  'database',
  'scaling',
  'year',
  'console',
]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, rows: { type: 'string' }, repeats: { type: 'string' } },
})
const unknown = positionals.find((part) => !PARTS.includes(part))
if (unknown !== undefined) throw new Error(`there is no part "${unknown}", only ${PARTS.join(', ')}`)
const sizes = values.rows?.split(',').map(Number) ?? (values.quick ? QUICK_SIZES : SIZES)
if (!sizes.every((size, index) => Number.isInteger(size) && size > (sizes[index - 1] ?? 0))) {
  throw new Error('--rows takes whole numbers in rising order, separated by commas')
}
const repeats = values.repeats === undefined ? undefined : Number(values.repeats)
if (repeats !== undefined && !(Number.isInteger(repeats) && repeats > 0))
  throw new Error('--repeats takes a whole number')
const parts = new Set(positionals.length > 0 ? positionals : PARTS)

await promisify(execFile)('node', ['scripts/bundle.mjs'])
const [first = 0] = sizes
const measurements: Measurement[] = []
if (SHARING_PARTS.some((part) => parts.has(part))) {
  await withBench('of the embedded one', async (bench) => {
    await bench.table.fill(first)
    if (parts.has('time')) measurements.push(...(await measureExportTime(bench, first)))
    if (parts.has('content')) measurements.push(...(await measureContent(bench, first)))
    if (parts.has('beside')) measurements.push(...(await measureContentBesideExport(bench)))
    if (parts.has('application')) measurements.push(...(await measureApplicationWait(bench)))
    if (parts.has('jobs')) measurements.push(...(await measureJobThroughput(bench)))
    if (parts.has('memory')) measurements.push(...(await measureExportMemory(bench, sizes)))
  })
}
if (parts.has('writes')) {
  const measure = async (bench: BenchRun): Promise<Measurement[]> => {
    await bench.table.fill(first)
    return measureWriteCost(bench)
  }
  measurements.push(...(await withBench('as initdb leaves them', measure)))
}
if (parts.has('mixed')) {
  const measure = async (bench: BenchRun): Promise<Measurement[]> => {
    // Few enough that exports, imports and transfers begin and end often.
    await bench.table.fill(MIXED_ROWS)
    return measureMixed(bench, values.quick ? 10 : undefined)
  }
  measurements.push(...(await withBench('of the embedded one', measure)))
}
if (parts.has('job-memory')) {
  const rows = values.rows === undefined && !values.quick ? JOB_ROWS : (sizes.at(-1) ?? 0)
  measurements.push(...(await withBench('of the embedded one', (bench) => measureJobMemory(bench, rows))))
}
if (parts.has('import')) {
  const measure = async (bench: BenchRun): Promise<Measurement[]> => {
    await bench.table.fill(first)
    return measureImport(bench, first)
  }
  measurements.push(...(await withBench('as initdb leaves them', measure)))
  // For the figures alone: who has a PostgreSQL of their own cannot expect them.
  await withBench('of the embedded one', measure)
}
if (parts.has('waits')) {
  const measure = async (bench: BenchRun): Promise<Measurement[]> => {
    await bench.table.fill(first)
    return measureImportWait(bench, first)
  }
  measurements.push(...(await withBench('as initdb leaves them', measure)))
}
if (parts.has('attached')) {
  measurements.push(...(await withBench('as initdb leaves them', measureAttachedWait)))
}
for (const [part, measure] of [
  ['database', measureDatabase],
  ['scaling', measureScaling],
] as const) {
  if (!parts.has(part)) continue
  const rows = values.rows === undefined && !values.quick ? undefined : first
  measurements.push(...(await withBench('as initdb leaves them', (bench) => measure(bench, { rows, repeats }))))
}
if (parts.has('year')) {
  const share = values.quick ? 0.01 : 1
  measurements.push(...(await withBench('of the embedded one', (bench) => measureYear(bench, share))))
}
if (parts.has('console')) {
  const share = values.quick ? 0.01 : 1
  measurements.push(...(await withBench('of the embedded one', (bench) => measureConsole(bench, share))))
}
for (const { sentence, measured, holds } of measurements)
  console.log(`${holds ? 'holds ' : 'BROKEN'}  ${sentence} (${measured})`)
process.exitCode = measurements.every(({ holds }) => holds) ? 0 : 1

/** Runs `use` beside a PostgreSQL of its own with a project, which are removed afterwards. */
async function withBench<T>(settings: Settings, use: (bench: BenchRun) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-bench-'))
  try {
    // PostgreSQL's user is another one than ours where we are root.
    await chmod(folder, 0o755)
    const [outputDir, dataDir] = [join(folder, 'output'), join(folder, 'service')]
    await Promise.all([outputDir, dataDir].map((path) => mkdir(path)))
    const postgres = await startPostgres(folder, settings)
    try {
      console.log(`${availableParallelism()} cores, Node.js ${process.versions.node}, ${postgres.description}\n`)
      const withService = serviceRunner(postgres.url, dataDir)
      await withService((service) => createProject(service, SAMPLE_SCHEMA))
      const table = await findSampleTable(postgres.superuserUrl)
      return await use({ postgres, table, dataDir, outputDir, withService })
    } finally {
      await postgres.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}
