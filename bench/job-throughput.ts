import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPostgresBackend, type PgPool, Queue, runMigrations, Worker } from 'bullmq'
import pg from 'pg'
import { request } from 'undici'
import { BOUNDS, type Measurement } from './bounds.ts'
import type { BenchRun } from './support/bench-run.ts'
import { printTable } from './support/print-table.ts'
import { type BenchService, startService } from './support/start-service.ts'
import { timeOf } from './support/statistics.ts'

const JOBS = 1_000
const WORKERS = 3

/** As many as a worker of Wharf's works on at once. */
const CONCURRENCY = 4

/** Requests that are under way at once: as many as jobs are. */
const CLIENTS = WORKERS * CONCURRENCY

const PROJECT = 'small'

/**
 * Has three workers make many small exports, the API the same exports for clients that wait, and bare BullMQ, on the same
 * PostgreSQL, deliver as many jobs in which there is nothing to do. What is between the first two are records, the queue and
 * stored archives.
 */
export async function measureJobThroughput(bench: BenchRun): Promise<Measurement[]> {
  const options = { databaseUrl: bench.postgres.url, dataDir: bench.dataDir }
  const client = new pg.Client({ connectionString: bench.postgres.superuserUrl })
  await client.connect()
  const api = await startService({ ...options, part: 'api' })
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => startService({ ...options, part: 'worker' })))
  try {
    await createSmallProject(api)
    const waiting = await timeOf(() => askForExports(api, JOBS, { 'accept-encoding': 'gzip' }))
    const seconds = await timeOf(async () => {
      await askForExports(api, JOBS, { prefer: 'respond-async' })
      await untilEnded(client)
    })
    const archives = await countArchives(client)
    const bare = await timeOf(() => deliverNothing(bench.postgres.superuserUrl))
    printTable(
      [`${JOBS} jobs, ${WORKERS} workers`, 'seconds', 'jobs/s', 'ratio'],
      [
        ['exports for clients that wait', ...figuresOf(waiting, waiting)],
        ['exports as jobs', ...figuresOf(seconds, waiting)],
        ['bare BullMQ, nothing to do', ...figuresOf(bare, waiting)],
      ],
    )
    const { oneArchiveEach, smallJobs } = BOUNDS
    const ratio = seconds / waiting
    return [
      {
        sentence: oneArchiveEach.sentence,
        measured: `${archives} of ${JOBS} jobs`,
        holds: archives === JOBS,
      },
      {
        sentence: smallJobs.sentence,
        measured: `${ratio.toFixed(2)} times as long`,
        holds: ratio <= smallJobs.maxRatio,
      },
    ]
  } finally {
    await Promise.all([api, ...workers].map((service) => service.stop()))
    await client.end()
  }
}

const figuresOf = (seconds: number, beside: number): readonly string[] => [
  seconds.toFixed(2),
  (JOBS / seconds).toFixed(0),
  (seconds / beside).toFixed(2),
]

async function createSmallProject(api: BenchService): Promise<void> {
  await post(api, '/projects', 'application/json', JSON.stringify({ slug: PROJECT }))
  const sql = 'CREATE TABLE thing AS SELECT n, md5(n::text) AS text FROM generate_series(1, 10) AS n'
  await post(api, `/projects/${PROJECT}/stages/live/schema`, 'application/sql', sql)
}

async function askForExports(
  api: BenchService,
  exports: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const body = JSON.stringify({ projects: [{ slug: PROJECT }] })
  let left = exports
  const ask = async (): Promise<void> => {
    while (left-- > 0) await post(api, '/export', 'application/json', body, headers)
  }
  await Promise.all(Array.from({ length: CLIENTS }, ask))
}

async function untilEnded(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ left: number }>(
      `SELECT count(*)::int AS left FROM control.job WHERE status IN ('queued', 'running')`,
    )
    if (rows[0]?.left === 0) return
    await sleep(50)
  }
}

/** Jobs that have succeeded, and have just one archive. */
async function countArchives(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ jobs: number }>(
    `SELECT count(*)::int AS jobs FROM (
       SELECT FROM control.job JOIN control.artifact ON job_id = job.id AND artifact.kind = 'output' AND state = 'ready'
       WHERE status = 'succeeded' GROUP BY job.id HAVING count(*) = 1) AS one`,
  )
  return rows[0]?.jobs ?? 0
}

async function deliverNothing(connectionString: string): Promise<void> {
  const pool = new pg.Pool({ connectionString, max: 12, options: '-c search_path=bare_bullmq' })
  // As in Wharf: BullMQ has types of its own for a pool.
  const connection = pool as unknown as PgPool
  const migrating = await connection.connect()
  await runMigrations(migrating, 'bare_bullmq').finally(() => migrating.release())
  const queue = new Queue('bare', { connection }, createPostgresBackend)
  let done = 0
  const count = async (): Promise<void> => {
    done += 1
  }
  const open = () => new Worker('bare', count, { connection, concurrency: CONCURRENCY }, createPostgresBackend)
  const workers = Array.from({ length: WORKERS }, open)
  try {
    let left = JOBS
    const add = async (): Promise<void> => {
      while (left-- > 0) await queue.add('export', {}, { jobId: randomUUID(), removeOnComplete: true })
    }
    await Promise.all(Array.from({ length: CLIENTS }, add))
    while (done < JOBS) await sleep(10)
  } finally {
    await Promise.all(workers.map((worker) => worker.close()))
    await queue.close()
    await pool.end()
  }
}

async function post(
  { url, headers }: BenchService,
  path: string,
  contentType: string,
  body: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const answer = await request(url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': contentType, ...more },
    body,
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`POST ${path} answered ${answer.statusCode}: ${text}`)
}
