import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import { createPool } from '../src/database/pool.ts'
import type { Logger } from '../src/logger.ts'

const SCHEMA_PATH = fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url))

/**
 * The SQL that builds every table of `schema.prisma` in an empty database, by Prisma's schema engine, compiled to
 * WebAssembly: the engine that `prisma migrate` runs as a native binary, which it would have to download.
 *
 * @param connectionString any database that can be reached; it is not changed, and no connection to it is left.
 */
export async function schemaSql(connectionString: string, logger: Logger): Promise<string> {
  await instantiate()
  const session = { maxConnections: 10, session: 'wharf', applicationName: 'wharf migrations' } as const
  const pool = createPool(connectionString, session, logger)
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg(pool))
    const content = await readFile(SCHEMA_PATH, 'utf8')
    const datamodels: [string, string][] = [['schema.prisma', content]]
    const engine = await bindings.SchemaEngine.new({ datamodels }, () => undefined, adapter)
    try {
      const { stdout } = await engine.diff({
        from: { tag: 'empty' },
        to: { tag: 'schemaDatamodel', files: [{ path: SCHEMA_PATH, content }] },
        script: true,
        exitCode: null,
        filters: { externalTables: [], externalEnums: [] },
      })
      return stdout ?? ''
    } finally {
      engine.free()
    }
  } finally {
    await pool.end()
  }
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
