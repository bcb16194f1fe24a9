import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import type { Logger } from '../logger.ts'
import { createPool } from './pool.ts'

/** `schema.prisma`, at the same place seen from `src/` and from `dist/`. */
const SCHEMA_PATH = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url))

let instantiated: Promise<void> | undefined

/**
 * Runs `use` with Prisma's schema engine, compiled to WebAssembly, on a PostgreSQL database: the same engine that
 * `prisma migrate` runs as a native binary, which it would have to download.
 *
 * @param connectionString the database to work on; no connection to it is left afterwards.
 */
export async function withSchemaEngine<T>(
  connectionString: string,
  logger: Logger,
  use: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  instantiated ??= instantiate()
  await instantiated
  const session = { maxConnections: 10, session: 'wharf', applicationName: 'wharf migrations' } as const
  const pool = createPool(connectionString, session, logger)
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool))
    const schema = await readFile(SCHEMA_PATH, 'utf8')
    const engine = await bindings.SchemaEngine.new(
      { datamodels: [['schema.prisma', schema]] },
      () => undefined,
      adapter,
    )
    try {
      return await use(engine)
    } finally {
      engine.free()
    }
  } finally {
    await pool.end()
  }
}

/**
 * The SQL that builds every table of `schema.prisma` in an empty database.
 *
 * @param connectionString any database that can be reached; it is not changed.
 */
export async function schemaSql(connectionString: string, logger: Logger): Promise<string> {
  return withSchemaEngine(connectionString, logger, async (engine) => {
    const { stdout } = await engine.diff({
      from: { tag: 'empty' },
      to: {
        tag: 'schemaDatamodel',
        files: [{ path: SCHEMA_PATH, content: await readFile(SCHEMA_PATH, 'utf8') }],
      },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    })
    return stdout ?? ''
  })
}

/** Loads the module by hand, since Node 20 does not import `.wasm`. */
async function instantiate(): Promise<void> {
  const bindingsPath = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const bytes = await readFile(bindingsPath.replace(/\.js$/, '.wasm'))
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...bindings } })
  bindings.__wbg_set_wasm(instance.exports)
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') start()
}
