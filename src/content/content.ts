import type { Database } from '../database/database.ts'
import type { LoginDatabases } from '../database/login-databases.ts'
import { isDataException } from '../database/sqlstate.ts'
import { assertTakesWrites } from '../database/takes-writes.ts'
import { notFound } from '../errors.ts'
import { readStageVersions, type StageVersion } from '../events/stage-versions.ts'
import { createBatcher } from '../lib/batcher.ts'
import { unlessDeleted } from '../projects/deleted-meanwhile.ts'
import type { FindProjectDatabase } from '../projects/stage-database.ts'
import { type AdmitContentRequest, type ContentAccess, createAdmission } from './admission.ts'
import { type ContentAnswer, compress } from './answer.ts'
import { createCatalogs } from './catalogs.ts'
import type { RereadVersion, Source } from './consistent-read.ts'
import { readOverview } from './overview.ts'
import { type ReadingLimits, type RowsQuery, readRows } from './read-rows.ts'
import type { ResponseCache } from './response-cache.ts'
import { createSingleFlight } from './single-flight.ts'
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
  readonly admit: AdmitContentRequest
  /** @throws {AppError} as `readRows` does. */
  readonly rows: (access: ContentAccess, request: ReadRequest, query: () => RowsQuery) => Promise<Answered>
  /** The stage at a glance, see `readOverview`. */
  readonly overview: (access: ContentAccess, request: ReadRequest) => Promise<Answered>
  /** @throws {AppError} as `writeRows` does. */
  readonly write: (access: ContentAccess, write: RowsWrite) => Promise<Written>
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
  const rereadTogether = createBatcher<string, StageVersion>(
    (asked) => readStageVersions(system.pool, [...asked.values()]),
    isDataException,
  )

  const askWritable = createBatcher<undefined, void>(async () => {
    await assertTakesWrites(system.pool)
    return new Map()
  })

  const rereadVersion: RereadVersion = async (stageId) => {
    const version = await rereadTogether(stageId, stageId)
    if (!version) throw notFound('stage', stageId)
    return version
  }

  const sourceOf = async ({ project, stage, version }: ContentAccess): Promise<Source> => {
    const opened = logins.opened(project.login, 'content')
    const database = opened ?? (await projectDatabase(project, 'content')).database
    return { pool: database.pool, stage, version }
  }

  const cached = async (
    access: ContentAccess,
    { canonical, gzip }: ReadRequest,
    read: (source: Source) => Promise<ContentAnswer>,
  ): Promise<Answered> => {
    const keyFor = (reference: string): string =>
      keyOf(access, reference, `${gzip ? 'gzip' : 'identity'}\n${canonical}`)
    const key = keyFor(access.version.reference)
    const known = await cache.get(key)
    if (known) return { answer: known, hit: true }
    const answer = await inFlight(key, async () => {
      const plain = await unlessDeleted(control.prisma, [access.project.slug], async () => read(await sourceOf(access)))
      const ready = gzip ? await compress(plain) : plain
      // Under the reference that it was read with, which may be newer than the one that was asked with.
      cache.set(keyFor(ready.reference), ready)
      return ready
    })
    return { answer, hit: false }
  }

  return {
    admit: createAdmission({ control, system, rootTokenHash }),
    rows: (access, request, query) =>
      cached(access, request, (source) => readRows(source, query(), { catalogs, rereadVersion, limits })),
    overview: (access, request) =>
      cached(access, request, (source) => readOverview(source, access, { catalogs, rereadVersion, limits })),
    async write(access, write) {
      return unlessDeleted(control.prisma, [access.project.slug], async () => {
        const [source] = await Promise.all([sourceOf(access), askWritable('', undefined)])
        return writeRows(source, write, { catalogs, rereadVersion, timeoutMs: limits.timeoutMs })
      })
    },
  }
}

/** Everything that an answer depends on. The rights of the caller are part of it, the caller is not. */
const keyOf = ({ stage, rights }: ContentAccess, reference: string, request: string): string =>
  `${stage.id}\n${reference}\n${rights}\n${request}`
