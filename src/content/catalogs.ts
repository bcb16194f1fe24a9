import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { AppError } from '../errors.ts'
import { readCatalog, type StageCatalog } from './query/index.ts'
import { inStageTransaction } from './stage-transaction.ts'

/** How many stages' catalogs are kept. */
const MAX_CATALOGS = 200

/** How long a change of structure that was made past Wharf may go unnoticed, in milliseconds. */
const MAX_AGE_MS = 30_000

/** Of how many structures it is known whether they have anything unseen, for as long as triggers may be missing past Wharf. */
const MAX_STRUCTURES = 10_000
const MAX_UNSEEN_AGE_MS = 10 * 60_000

/** How old the time may be by which that is told: otherwise, every look has a timer of its own set. */
const TTL_RESOLUTION_MS = 1_000

export interface CatalogSource {
  readonly pool: pg.Pool
  readonly stageId: string
  readonly schemaName: string
  readonly extensionSchemas: readonly string[]
  /** As the stage's version says; the catalog is at least as new as that. */
  readonly structure: string
  readonly timeoutMs: number
}

export interface Catalogs {
  /**
   * Plans something by a stage's catalog. Where a cached catalog refuses it, the catalog is read again and the plan is
   * made again, since plain SQL may have changed the structure.
   */
  plan<T>(source: CatalogSource, plan: (catalog: StageCatalog) => T): Promise<T>
  /** Whether the catalog has anything unseen; undefined where that is not known without reading it. */
  hasUnseen(source: Pick<CatalogSource, 'stageId' | 'structure'>): boolean | undefined
  /** Forgets a catalog that turned out to be no longer right. */
  forget(source: Pick<CatalogSource, 'stageId' | 'structure'>): void
}

/** Keeps what stages' tables look like. Each is read once for each structure, when it is first needed. */
export function createCatalogs(): Catalogs {
  const catalogs = new LRUCache<string, Promise<StageCatalog>>({
    max: MAX_CATALOGS,
    ttl: MAX_AGE_MS,
    ttlResolution: TTL_RESOLUTION_MS,
  })
  const withUnseen = new LRUCache<string, boolean>({
    max: MAX_STRUCTURES,
    ttl: MAX_UNSEEN_AGE_MS,
    ttlResolution: TTL_RESOLUTION_MS,
  })

  const read = (
    key: string,
    { pool, schemaName, extensionSchemas, timeoutMs }: CatalogSource,
  ): Promise<StageCatalog> => {
    const options = { mode: 'READ ONLY', schemaName, extensionSchemas, table: '', timeoutMs } as const
    const reading = inStageTransaction(pool, options, async (client) => {
      // What looks at catalogs is costly on paper, and takes a second or two to compile, for milliseconds of work.
      await client.query('SET LOCAL jit = off')
      return readCatalog(async (sql, parameters) => (await client.query(sql, [...parameters])).rows, schemaName)
    })
    catalogs.set(key, reading)
    reading.then(
      ({ hasUnseen }) => withUnseen.set(key, hasUnseen),
      () => catalogs.delete(key),
    )
    return reading
  }

  return {
    async plan(source, plan) {
      const key = keyOf(source)
      const kept = catalogs.get(key)
      if (kept !== undefined) {
        try {
          return plan(await kept)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
        }
      }
      return plan(await read(key, source))
    },
    hasUnseen: (source) => withUnseen.get(keyOf(source)),
    forget: (source) => void catalogs.delete(keyOf(source)),
  }
}

const keyOf = ({ stageId, structure }: Pick<CatalogSource, 'stageId' | 'structure'>): string =>
  `${stageId} ${structure}`
