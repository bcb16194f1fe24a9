import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { ErrorCode } from '../../src/errors.ts'
import type { JobError, JobKind } from '../../src/jobs/job.ts'
import { comparableLines, exportOf } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import type { LostCall } from '../support/faults/fail-point.ts'
import type { ApiAnswer } from '../support/http/api-client.ts'
import { askExport, askImport } from '../support/jobs/jobs.ts'
import { leftAfterSweep, nothingIsLeft } from '../support/service/leftovers.ts'
import type { PlacedProject } from '../support/service/location.ts'
import type { TestWharf } from '../support/service/wharf.ts'
import type { FailingService } from './failing-service.ts'

/** Two projects to export, with other rows each; the project `target` has the rows of the one or of the other. */
type Source = 'odd' | 'even'

const STRUCTURE = `
  CREATE TABLE author (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
  CREATE TABLE book (id integer PRIMARY KEY, author_id integer NOT NULL REFERENCES author, title text);`

const rowsOf = (source: Source): string => `
  INSERT INTO author (name) SELECT '${source} author ' || n FROM generate_series(1, 20) n;
  INSERT INTO book SELECT n, 1 + n % 20, '${source} book ' || n FROM generate_series(1, 200) n;`

/** How what was asked for went, and how many calls were counted meanwhile. */
export interface Run {
  readonly outcome: 'succeeded' | 'failed' | 'refused'
  readonly calls: number
}

export interface WholeJobs {
  /**
   * Asks for a job while a call fails, waits until nothing goes on any more, and makes sure that all that is there is
   * what was there before, or all of it what the job was to bring.
   */
  run(kind: JobKind, lostCall: LostCall): Promise<Run>
  /** Removes the projects again. */
  remove(): Promise<void>
}

/** Makes the projects for them. */
export async function prepareWholeJobs({ wharf, failPoint, codes, createProject }: FailingService): Promise<WholeJobs> {
  const { root } = wharf
  const archives = { odd: '', even: '' }
  const projects: PlacedProject[] = []
  const contents: { odd: unknown; even: unknown } = { odd: undefined, even: undefined }
  for (const source of ['odd', 'even'] as const) {
    const project = await createProject(source, STRUCTURE + rowsOf(source))
    archives[source] = await exportOf(root, source)
    contents[source] = await rowsIn(project)
    projects.push(project)
  }
  const target = await createProject('target', STRUCTURE + rowsOf('odd'))
  projects.push(target)
  let current: Source = 'odd'
  const seen: string[] = []

  const ask = (kind: JobKind, source: Source): Promise<ApiAnswer> => {
    if (kind === 'export') return askExport(root, [{ slug: source }])
    if (kind === 'import') return askImport(root, archives[source], '?targetSlug=target')
    return root.post('/transfer', { json: { source: { project: source }, target: { project: 'target' } } })
  }

  return {
    async run(kind, lostCall) {
      const next = current === 'odd' ? 'even' : 'odd'
      const before = await importsInto(wharf, 'target')
      failPoint.arm(lostCall)
      const answer = await ask(kind, next)
      const job = await endOfNewJob(wharf, seen)
      await nothingIsLeft(wharf)
      const calls = failPoint.disarm()

      if (answer.status === 202) expect(answer.json).toMatchObject({ id: job?.id })
      else expect(answer.json, answer.text).toMatchObject({ type: expect.toBeOneOf(codes.map(problemType)) })
      if (job?.status === 'failed') {
        expect(job.error).toMatchObject({
          code: expect.toBeOneOf([...codes]),
          detail: expect.stringMatching(/\w+ \w+/),
        })
      }
      if (job?.status === 'succeeded' && kind === 'export') await expectArchive(wharf, job.id, archives[next])
      const isReplaced = job?.status === 'succeeded' && kind !== 'export'
      if (isReplaced) current = next
      expect(await rowsIn(target)).toEqual(contents[current])
      expect((await importsInto(wharf, 'target')) - before).toBe(isReplaced ? 1 : 0)
      expect(await leftAfterSweep(wharf)).toEqual({ records: [], schemas: [], events: [] })
      expect(await schemasBeside(target)).toEqual([])
      return { outcome: job?.status ?? 'refused', calls }
    },
    async remove() {
      for (const project of projects) await project.remove()
    },
  }
}

const problemType = (code: ErrorCode): string => `urn:wharf:error:${code.toLowerCase().replaceAll('_', '-')}`

async function rowsIn({ database, schema }: PlacedProject): Promise<unknown> {
  const [row] = await database.query(`
    SELECT (SELECT json_agg(author ORDER BY id) FROM "${schema}".author) AS authors,
           (SELECT json_agg(book ORDER BY id) FROM "${schema}".book) AS books`)
  return row
}

async function importsInto({ database }: TestWharf, project: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM system.event JOIN control.stage ON stage.id = stage_id
       JOIN control.project ON project.id = project_id
      WHERE project.slug = $1 AND stage.slug = 'live' AND kind = 'import'`,
    [project],
  )
  return row?.n ?? 0
}

/** What imports have left beside a stage in its own database. */
const schemasBeside = ({ database }: PlacedProject): Promise<unknown[]> =>
  database.query(`SELECT nspname FROM pg_namespace WHERE nspname ~ '^wharf_(new|old)_'`)

interface EndedJob {
  readonly id: string
  readonly status: 'succeeded' | 'failed'
  readonly error: JobError | null
}

/** @returns the job that is not among those seen, once it has ended; undefined where there is none. */
async function endOfNewJob({ database }: TestWharf, seen: string[]): Promise<EndedJob | undefined> {
  const unseen = 'FROM control.job WHERE NOT id = ANY ($1)'
  await eventually(() =>
    database.query(`SELECT status ${unseen} AND status NOT IN ('succeeded', 'failed')`, [seen]),
  ).toEqual([])
  const jobs = await database.query<EndedJob & Record<string, unknown>>(`SELECT id, status, error ${unseen}`, [seen])
  expect(jobs.length).toBeLessThanOrEqual(1)
  seen.push(...jobs.map(({ id }) => id))
  return jobs[0]
}

async function expectArchive({ root }: TestWharf, jobId: string, expected: string): Promise<void> {
  const file = await root.get(`/jobs/${jobId}/file`)
  expect(file.status, file.text).toBe(200)
  expect(comparableLines(gunzipSync(file.bytes).toString())).toEqual(comparableLines(expected))
}
