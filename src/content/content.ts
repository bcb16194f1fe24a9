import type { Database } from '../database/database.ts'
import type { LoginDatabases } from '../database/login-databases.ts'
import { isDataException } from '../database/sqlstate.ts'
import { assertTakesWrites } from '../database/takes-writes.ts'
import { notFound } from '../errors.ts'
import { createRounds } from '../lib/rounds.ts'
import { unlessDeleted } from '../projects/deleted-meanwhile.ts'
import type { FindProjectDatabase } from '../projects/stage-database.ts'
import { type AdmitVisitor, createAdmission, type Visit } from './admission.ts'
import type { ContentAnswer } from './answer.ts'
import { createCatalogs } from './catalogs.ts'
import { compress } from './compress.ts'
import { readOverview } from './overview.ts'
import { type ReadingLimits, type RowsQuery, readRows } from './read-rows.ts'
import type { ResponseCache } from './response-cache.ts'
import type { Remark, Source } from './settled-read.ts'
import { createSingleFlight } from './single-flight.ts'
import { readStageMarks, type StageMark } from './stage-marks.ts'
import { type RowsWrite, type Written, writeRows } from './write-rows.ts'

export interface Answered {
  readonly answer: ContentAnswer
  /** Whether the answer was known for this reference. */
  readonly hit: boolean
}

export interface ReadRequest {
  /** All of the request that the answer depends on, in one form for all requests that mean the same. */
  readonly canonical: string
  readonly gzip: boolean
}

/** Rows over HTTP: who may have them, whether they have changed, and the rows themselves. */
export interface Content {
  readonly admit: AdmitVisitor
  /** @throws {AppError} as `readRows` does. */
  readonly rows: (visit: Visit, request: ReadRequest, query: () => RowsQuery) => Promise<Answered>
  /** The stage at a glance, see `readOverview`. */
  readonly overview: (visit: Visit, request: ReadRequest) => Promise<Answered>
  /** @throws {AppError} as `writeRows` does. */
  readonly write: (visit: Visit, write: RowsWrite) => Promise<Written>
}

export function createContent(options: {
  readonly control: Database
  readonly system: Database
  readonly logins: LoginDatabases
  readonly projectDatabase: FindProjectDatabase
  readonly rootTokenHash: Uint8Array
  readonly cache: ResponseCache
  readonly limits: ReadingLimits
}): Content {
  const { control, system, logins, projectDatabase, rootTokenHash, cache, limits } = options
  const catalogs = createCatalogs()
  const inFlight = createSingleFlight<ContentAnswer>()
  const remarkTogether = createRounds<string, StageMark>(
    (asked) => readStageMarks(system.pool, [...asked.values()]),
    isDataException,
  )

  const askWritable = createRounds<undefined, void>(async () => {
    await assertTakesWrites(system.pool)
    return new Map()
  })

  const remark: Remark = async (stageId) => {
    const mark = await remarkTogether(stageId, stageId)
    if (!mark) throw notFound('stage', stageId)
    return mark
  }

  const sourceOf = async ({ project, stage, mark }: Visit): Promise<Source> => {
    const database = logins.opened(project.login, 'content') ?? (await projectDatabase(project, 'content'))
    return { pool: database.pool, stage, mark }
  }

  const cached = async (
    visit: Visit,
    { canonical, gzip }: ReadRequest,
    read: (source: Source) => Promise<ContentAnswer>,
  ): Promise<Answered> => {
    const keyFor = (reference: string): string => keyOf(visit, reference, `${gzip ? 'gzip' : 'identity'}\n${canonical}`)
    const key = keyFor(visit.mark.reference)
    const known = await cache.get(key)
    if (known) return { answer: known, hit: true }
    const answer = await inFlight(key, async () => {
      const plain = await unlessDeleted(control.prisma, [visit.project.slug], async () => read(await sourceOf(visit)))
      const ready = gzip ? await compress(plain) : plain
      // Under the reference that it was read with, which may be newer than the one that was asked with.
      cache.set(keyFor(ready.reference), ready)
      return ready
    })
    return { answer, hit: false }
  }

  return {
    admit: createAdmission({ control, system, rootTokenHash }),
    rows: (visit, request, query) =>
      cached(visit, request, (source) => readRows(source, query(), { catalogs, remark, limits })),
    overview: (visit, request) =>
      cached(visit, request, (source) => readOverview(source, visit, { catalogs, remark, limits })),
    async write(visit, write) {
      return unlessDeleted(control.prisma, [visit.project.slug], async () => {
        const [source] = await Promise.all([sourceOf(visit), askWritable('', undefined)])
        return writeRows(source, write, { catalogs, remark, timeoutMs: limits.timeoutMs })
      })
    },
  }
}

/** Everything that an answer depends on. The visitor's rights are part of it, the visitor is not. */
const keyOf = ({ stage, rights }: Visit, reference: string, request: string): string =>
  `${stage.id}\n${reference}\n${rights}\n${request}`
