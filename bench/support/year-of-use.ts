import { createHash, randomBytes } from 'node:crypto'
import { link, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'

/** How much an installation has after a year: a schedule keeps fifty archives, and has run every night. */
export interface YearOfUse {
  readonly projects: number
  readonly schedules: number
  /** Records of jobs, each of the last 30 days, but for those whose archive is kept. */
  readonly jobs: number
  readonly archives: number
  readonly runs: number
  readonly events: number
}

/** How many events a transaction has. */
const EVENTS_PER_TRANSACTION = 5

const ARCHIVE_BYTES = 4096

/**
 * Puts records into the tables of an installation that has its projects and schedules, and a job that has succeeded, as its
 * superuser, and archives into its folder. Rows of events have some 100 bytes.
 *
 * @param slug of the project whose stage gets all events.
 */
export async function useForAYear(
  client: pg.Client,
  { archives, jobs, runs, events }: YearOfUse,
  { folder, slug }: { readonly folder: string; readonly slug: string },
): Promise<void> {
  await client.query('SET session_replication_role = replica')
  await addJobs(client, jobs - archives, archives)
  await addRuns(client, runs)
  await addArchives(client, archives, folder)
  await addEvents(client, events, slug)
  await client.query('SET session_replication_role = origin')
  await client.query('VACUUM (FREEZE, ANALYZE)')
}

/** The newest jobs have archives; one in fifty of the others has failed. */
async function addJobs(client: pg.Client, others: number, archives: number): Promise<void> {
  await client.query(
    `INSERT INTO control.job (id, kind, status, request, project_ids, schedule_id, progress, result, error, attempt,
                              max_attempts, created_at, started_at, finished_at, expires_at)
     SELECT gen_random_uuid(), 'export', CASE WHEN fails THEN 'failed' ELSE 'succeeded' END, schedule.request,
            ARRAY[project.id], CASE WHEN keeps THEN schedule.id END, done.progress,
            CASE WHEN NOT fails THEN done.result END,
            CASE WHEN fails THEN '{"code": "DATABASE_UNAVAILABLE", "detail": "the database cannot be reached", "faults": []}'::jsonb END,
            1, 3, at, at, at + interval '40 s', CASE WHEN keeps THEN NULL ELSE at + interval '1 day' END
       FROM generate_series(1, $1::int + $2::int) AS n
      CROSS JOIN LATERAL (SELECT n <= $2 AS keeps, n > $2 AND n % 50 = 0 AS fails,
                                 now() - interval '29 days' * n / ($1 + $2) AS at) AS made
       JOIN (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS every FROM control.schedule) AS schedule
         ON place = n % every
      CROSS JOIN (SELECT progress, result FROM control.job WHERE status = 'succeeded' LIMIT 1) AS done
       JOIN control.project ON slug = schedule.request->'projects'->0->>'slug'`,
    [others, archives],
  )
}

/** Those of the jobs that are kept, and earlier ones whose records are gone. */
async function addRuns(client: pg.Client, runs: number): Promise<void> {
  await client.query(
    `INSERT INTO control.schedule_run (schedule_id, due_at, job_id, outcome, finished_at, proven_at)
     SELECT schedule_id, created_at, id, status, finished_at, finished_at FROM control.job WHERE schedule_id IS NOT NULL`,
  )
  await client.query(
    `INSERT INTO control.schedule_run (schedule_id, due_at, outcome, finished_at, proven_at)
     SELECT id, at, 'succeeded', at, CASE WHEN n % 7 = 0 THEN at END
       FROM control.schedule CROSS JOIN generate_series(1, $1::int / (SELECT count(*)::int FROM control.schedule)) AS n
      CROSS JOIN LATERAL (SELECT now() - interval '30 days' - n * interval '1 day' AS at) AS made`,
    [runs],
  )
}

async function addArchives(client: pg.Client, archives: number, folder: string): Promise<void> {
  const bytes = randomBytes(ARCHIVE_BYTES)
  const { rows } = await client.query<{ key: string }>(
    `INSERT INTO control.artifact (id, job_id, kind, key, state, bytes, sha256, created_at, proven_at, checked_at)
     SELECT gen_random_uuid(), id, 'output', gen_random_uuid(), 'ready', $1, $2, created_at, finished_at, now()
       FROM control.job WHERE schedule_id IS NOT NULL LIMIT $3 RETURNING key`,
    [bytes.length, createHash('sha256').update(bytes).digest(), archives],
  )
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const original = join(folder, '.archive')
  await writeFile(original, bytes, { mode: 0o600 })
  for (const { key } of rows) await link(original, join(folder, key))
}

async function addEvents(client: pg.Client, events: number, slug: string): Promise<void> {
  const transactions = Math.ceil(events / EVENTS_PER_TRANSACTION)
  const stage = `(SELECT stage.id FROM control.stage JOIN control.project ON project.id = project_id WHERE project.slug = $1)`
  await client.query(
    `INSERT INTO system.event (stage_id, transaction_id, kind, table_name, key_columns, rows, occurred_at)
     SELECT ${stage}, 1000 + n / ${EVENTS_PER_TRANSACTION}, 'create', 'item', '{id}',
            ARRAY[json_build_object('id', n, 'name', md5(n::text), 'price', n % 1000)],
            now() - interval '300 days' * (1 - n::float8 / $2::int)
       FROM generate_series(0, $2::int - 1) AS n`,
    [slug, transactions * EVENTS_PER_TRANSACTION],
  )
  await client.query(
    `INSERT INTO system.transaction (stage_id, position, id, reference)
     SELECT ${stage}, 1000 + n, 1000 + n, gen_random_uuid() FROM generate_series(0, $2::int - 1) AS n`,
    [slug, transactions],
  )
  for (const [sequence, table, column] of [
    ['system.open_transaction_id_seq', 'system.event', 'transaction_id'],
    ['system.transaction_position_seq', 'system.transaction', 'position'],
  ]) {
    await client.query(`SELECT setval('${sequence}', (SELECT max(${column}) FROM ${table}))`)
  }
}
