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
import { type Addressed, readAllowedMethods } from './allowed-methods.ts'
import { type AttachedStage, createAttachedVersions } from './attached-stages.ts'
import { createFunctionCalls, type FunctionCalls } from './call-functions.ts'
import { createCatalogs } from './catalogs.ts'
import type { Source } from './consistent-read.ts'
import { type Answered, createKeptAnswers, freshAnswer, type ReadRequest } from './kept-answers.ts'
import { readOverview } from './overview.ts'
import { planRows, type ReadingLimits, type RowsQuery, readRows } from './read-rows.ts'
import type { ResponseCache } from './response-cache.ts'
import { type RowsWrite, type Written, writeRows } from './write-rows.ts'

/** Rows over HTTP: who may have them, whether they have changed, and the rows themselves. */
export interface Content extends FunctionCalls {
  readonly admit: AdmitContentRequest
  /** @throws {AppError} as `readRows` does. */
  readonly rows: (access: ContentAccess, request: ReadRequest, query: () => RowsQuery) => Promise<Answered>
  /**
   * Whether rows show what changes without an event of the stage's log, so that no reference says anything about them.
   *
   * @throws {AppError} NOT_FOUND, INVALID_REQUEST, where there can be any such rows.
   */
  readonly isUnseen: (access: ContentAccess, query: () => RowsQuery) => boolean | Promise<boolean>
  /** The stage at a glance, see `readOverview`. */
  readonly overview: (access: ContentAccess, request: ReadRequest) => Promise<Answered>
  /** What `Allow` says of a table or a function, see `readAllowedMethods`. */
  readonly allowedMethods: (access: ContentAccess, addressed: Addressed) => Promise<string>
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
  const keptAnswers = createKeptAnswers(cache)
  const rereadTogether = createBatcher<string, StageVersion>(
    (asked) => readStageVersions(system.pool, [...asked.values()]),
    { isOfOneQuestion: isDataException },
  )

  const askWritable = createBatcher<undefined, void>(async () => {
    await assertTakesWrites(system.pool)
    return new Map()
  })

  const attachedVersion = createAttachedVersions(projectDatabase, onLogProblem)

  /** How the stage stands now, for those who look again. */
  const servicesFor = ({ project, stage }: ContentAccess) => ({
    catalogs,
    limits,
    timeoutMs: limits.timeoutMs,
    async rereadVersion(): Promise<StageVersion> {
      if (project.login === null) return attachedVersion({ project, stage })
      const version = await rereadTogether(stage.id, stage.id)
      if (!version) throw notFound('stage', stage.id)
      return version
    },
  })

  const sourceOf = async ({ project, stage, version, isSeen }: ContentAccess): Promise<Source> => {
    const opened = project.login === null ? undefined : logins.opened(project.login, 'content')
    const found = opened ? { database: opened, extensionSchemas: IN_OWN } : await projectDatabase(project, 'content')
    const isAttached = project.login === null
    return {
      pool: found.database.pool,
      stage,
      version,
      extensionSchemas: found.extensionSchemas,
      reference: isAttached ? attachedReferenceSql(stage.id) : referenceSql(stage.id, stage.schemaName),
      toSeen: (row, planned) => (isAttached ? toAttachedSeen(row, planned, isSeen) : row),
    }
  }

  /** Reads where the stage is, unless its project is deleted meanwhile. */
  const reading =
    <T>(access: ContentAccess, read: (source: Source) => Promise<T>) =>
    (): Promise<T> =>
      unlessDeleted(control.prisma, [access.project.slug], async () => read(await sourceOf(access)))

  const isUnseen = (access: ContentAccess, query: () => RowsQuery): boolean | Promise<boolean> => {
    const { stage, version } = access
    if (catalogs.hasUnseen({ stageId: stage.id, structure: version.structure }) === false) return false
    const plan = reading(access, (source) => planRows(source, query(), servicesFor(access)))
    return plan().then(({ unseen }) => unseen)
  }

  return {
    admit: createAdmission({ control, system, rootTokenHash, attachedVersion }),
    isUnseen,
    ...createFunctionCalls({ reading, servicesFor, keptAnswers, askWritable: () => askWritable('', undefined) }),
    async rows(access, request, query) {
      const read = reading(access, (source) => readRows(source, query(), servicesFor(access)))
      return (await isUnseen(access, query)) ? freshAnswer(request, read) : keptAnswers(access, request, read)
    },
    overview(access, request) {
      const read = reading(access, (source) => readOverview(source, access, servicesFor(access)))
      return keptAnswers(access, request, async () => ({ answer: await read(), unseen: false }))
    },
    allowedMethods: (access, addressed) =>
      reading(access, (source) => readAllowedMethods(source, addressed, servicesFor(access)))(),
    async write(access, write) {
      return unlessDeleted(control.prisma, [access.project.slug], async () => {
        const [source] = await Promise.all([sourceOf(access), askWritable('', undefined)])
        return writeRows(source, write, servicesFor(access))
      })
    },
  }
}

/** Where extensions are in a database of Wharf's. */
const IN_OWN: readonly string[] = [EXTENSIONS_SCHEMA]
