import { expect } from 'vitest'
import { createTestDatabase } from '../database/database.ts'
import { createExternalDatabase, type ExternalDatabase } from '../database/external-database.ts'
import { query } from '../servers/sessions.ts'
import { type Location, type PlacedProject, ScriptRefused } from './location.ts'

/** What a service needs to attach databases of the test servers. */
export const MAY_ATTACH = { WHARF_TRANSFER_HOSTS: '127.0.0.1,localhost' } as const

interface Attached {
  readonly stages: PlacedProject['stages']
  /** The extensions that the superuser has made in `public`. */
  readonly extensions?: readonly string[]
  /** Whether every other table belongs to a role of which the login is a member. */
  readonly isShared?: boolean
}

/** A location in which each project has a database of its own, which is attached by the login that owns the schemas. */
export const attachedLocation = (name: string, { stages, extensions = [], isShared = false }: Attached): Location => ({
  name,
  isAttached: true,
  isOwned: !isShared,
  staysInSchema: stages.some(({ schema }) => schema === 'public'),
  async createProject(wharf, slug, { script = '', createDatabase = createTestDatabase, ...options } = {}) {
    const external = await createExternalDatabase('SELECT 1', createDatabase)
    const { superuserUrl } = external.database
    const other = `${external.owner.username}_other`
    const shareOut = async (): Promise<void> => {
      if (isShared) await query(superuserUrl, shareTables(other))
    }
    const drop = async (): Promise<void> => {
      if (isShared) await query(superuserUrl, `DROP OWNED BY ${other} CASCADE; DROP ROLE ${other}`)
      await external.drop()
    }
    const attachment = async (address: URL): Promise<void> => {
      const changed = await wharf.root.put(`/projects/${slug}/attachment`, { json: { address: address.href } })
      expect(changed.status, changed.text).toBe(200)
    }

    for (const extension of new Set([...extensions, ...(options.extensions ?? [])])) {
      await query(superuserUrl, `CREATE EXTENSION ${extension}`)
    }
    // What archives say of rights is for other tests.
    await query(superuserUrl, `REVOKE USAGE ON SCHEMA public FROM ${external.reader.username}`)
    if (isShared) await query(superuserUrl, `CREATE ROLE ${other} ROLE ${external.owner.username}`)
    try {
      for (const { schema } of stages) await runIn(external, schema, script)
    } catch (error) {
      await drop()
      throw error
    }
    await shareOut()
    const address = new URL(external.owner)
    if (options.via) address.host = options.via
    const attach = { address: address.href, stages }
    const made = await wharf.root.post('/projects', { json: { slug, attach } })
    expect(made.status, made.text).toBe(201)
    return {
      slug,
      stages,
      schema: stages[0]?.schema ?? '',
      database: {
        url: external.owner.href,
        superuserUrl,
        query: (sql, parameters) => query(external.owner.href, sql, parameters),
      },
      shareOut,
      async becomeReadOnly() {
        for (const { schema } of stages) await query(superuserUrl, letRead(external, schema))
        await attachment(external.reader)
      },
      async remove() {
        const detached = await wharf.root.delete(`/projects/${slug}/attachment?force=true`)
        expect(detached.status, detached.text).toBe(204)
        await drop()
      },
    }
  },
})

async function runIn({ run }: ExternalDatabase, schema: string, script: string): Promise<void> {
  const named = script.replaceAll('$SCHEMA', schema)
  try {
    await run(`CREATE SCHEMA IF NOT EXISTS ${schema}; SET search_path = ${schema}, public; ${named}`)
  } catch (cause) {
    throw new ScriptRefused('PostgreSQL does not run the script', { cause })
  }
}

const shareTables = (other: string): string => `
  DO $$ DECLARE shared regclass; BEGIN
    FOR shared IN SELECT oid FROM (
        SELECT oid, row_number() OVER (ORDER BY relname) AS n FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')) AS every WHERE n % 2 = 1
    LOOP EXECUTE format('ALTER TABLE %s OWNER TO ${other}', shared); END LOOP;
  END $$`

const letRead = ({ reader }: ExternalDatabase, schema: string): string =>
  `GRANT USAGE ON SCHEMA ${schema} TO ${reader.username};
   GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${reader.username};
   GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${reader.username}`
