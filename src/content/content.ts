import { EXTENSIONS_SCHEMA } from '../contract/extensions-schema.ts'
import type { Database } from '../database/database.ts'
import type { LoginDatabases } from '../database/login-databases.ts'
import { isDataException } from '../database/sqlstate.ts'
import { assertTakesWrites } from '../database/takes-writes.ts'
import { notFound } from '../errors.ts'
import { attachedReferenceSql, toAttachedSeen } from '../events/attached/attached-version.ts'
import { referenceSql } from '../events/reference-sql.ts'
import { readStageVersions, type StageVersion } from '../events/stage-versions.ts'
import { createBatcher } from '../lib/batcher.ts'
import { unlessDeleted } from '../projects/deleted-meanwhile.ts'
import type { FindProjectDatabase } from '../projects/stage-database.ts'
import { type AdmitContentRequest, type ContentAccess, createAdmission } from './admission.ts'
import { type ContentAnswer, compress } from './answer.ts'
import { type AttachedStage, createAttachedVersions } from './attached-stages.ts'
import { createCatalogs } from './catalogs.ts'
import type { Source } from './consistent-read.ts'
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
  /** Hears of each stage in a database that is not Wharf's that can be written to unseen by its log. */
  readonly onLogProblem: (of: AttachedStage) => void
}): Content {
  const { control, system, logins, projectDatabase, rootTokenHash, cache, limits, onLogProblem } = options
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

  const attachedVersion = createAttachedVersions(projectDatabase, onLogProblem)

  /** How the stage stands now, for those who look again. */
  const servicesFor = ({ project, stage }: ContentAccess) => ({
    ...{ catalogs, limits, timeoutMs: limits.timeoutMs },
    async rereadVersion(): Promise<StageVersion> {
      if (project.login === null) return attachedVersion({ project, stage })
      const version = await rereadTogether(stage.id, stage.id)
      if (!version) throw notFound('stage', stage.id)
      return version
    },
  })

  const sourceOf = async ({ project, stage, version, isSeen }: ContentAccess): Promise<Source> => {
    const opened = project.login === null ? undefined : logins.opened(project.login, 'content')
    const found = opened ? { database: opened, ...IN_OWN } : await projectDatabase(project, 'content')
    const { database, extensionSchemas } = found
    const of = { pool: database.pool, stage, version, extensionSchemas }
    if (project.login !== null) {
      return { ...of, reference: referenceSql(stage.id, stage.schemaName), toSeen: (row) => row }
    }
    const reference = attachedReferenceSql(stage.id)
    return { ...of, reference, toSeen: (row, planned) => toAttachedSeen(row, planned, isSeen) }
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
      if (access.isSeen) cache.set(keyFor(ready.reference), ready)
      return ready
    })
    return { answer, hit: false }
  }

  return {
    admit: createAdmission({ control, system, rootTokenHash, attachedVersion }),
    rows: (access, request, query) =>
      cached(access, request, (source) => readRows(source, query(), servicesFor(access))),
    overview: (access, request) =>
      cached(access, request, (source) => readOverview(source, access, servicesFor(access))),
    async write(access, write) {
      return unlessDeleted(control.prisma, [access.project.slug], async () => {
        const [source] = await Promise.all([sourceOf(access), askWritable('', undefined)])
        return writeRows(source, write, servicesFor(access))
      })
    },
  }
}

/** Where extensions are in a database of Wharf's. */
const IN_OWN = { extensionSchemas: [EXTENSIONS_SCHEMA] } as const

/** Everything that an answer depends on. The rights of the caller are part of it, the caller is not. */
const keyOf = ({ stage, rights }: ContentAccess, reference: string, request: string): string =>
  `${stage.id}\n${reference}\n${rights}\n${request}`
