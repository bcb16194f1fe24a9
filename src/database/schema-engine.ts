import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'

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
  use: (engine: SchemaEngine) => Promise<T>,
): Promise<T> {
  instantiated ??= instantiate()
  await instantiated
  const pool = new pg.Pool({ connectionString, application_name: 'wharf migrations' })
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScriptAdapter(pool))
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
export async function schemaSql(connectionString: string): Promise<string> {
  return withSchemaEngine(connectionString, async (engine) => {
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

/**
 * Prisma's adapter cuts a script at every semicolon, also inside a function's body, and sends the pieces one by
 * one. Sent as a whole, PostgreSQL itself parses it, and runs it in one transaction.
 */
class WholeScriptAdapter extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    adapter.executeScript = async (script) => {
      await adapter.underlyingDriver().query(script)
    }
    return adapter
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
