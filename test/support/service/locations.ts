import { expect } from 'vitest'
import { isThorough } from '../thorough.ts'
import { attachedLocation } from './attached-location.ts'
import { type Location, ScriptRefused } from './location.ts'
import { applyScript, createProject } from './projects.ts'

/** Wharf's own database, where projects are unless somebody says otherwise. */
export const SHARED_LOCATION: Location = {
  name: "in Wharf's database",
  isAttached: false,
  isOwned: true,
  staysInSchema: false,
  async createProject(wharf, slug, { script } = {}) {
    await createProject(wharf, slug)
    const schema = `${slug}.live`
    const remove = async (): Promise<void> => {
      const removed = await wharf.root.delete(`/projects/${slug}`)
      expect(removed.status, removed.text).toBeLessThan(300)
    }
    if (script) {
      const applied = await applyScript(wharf, slug, script.replaceAll('$SCHEMA', schema))
      if (applied.status !== 200) await remove()
      if (applied.status === 422) throw new ScriptRefused(applied.text)
      expect(applied.status, applied.text).toBe(200)
    }
    return {
      slug,
      stages: [{ slug: 'live', schema }],
      schema,
      database: wharf.database,
      shareOut: async () => undefined,
      becomeReadOnly: async () => undefined,
      remove,
    }
  },
}

/** Databases that are attached, by what the login may do there, and what it finds. */
export const ATTACHED_LOCATIONS: readonly Location[] = [
  attachedLocation('in an attached schema of the login', { stages: [{ slug: 'live', schema: 'own' }] }),
  attachedLocation('in an attached public with extensions', {
    stages: [{ slug: 'live', schema: 'public' }],
    extensions: ['citext', 'pg_trgm', 'hstore'],
  }),
  attachedLocation('in attached schemas that are stages of one project', {
    stages: [
      { slug: 'live', schema: 'own' },
      { slug: 'sales', schema: 'sales' },
    ],
  }),
  attachedLocation('in an attached public with tables of several owners', {
    stages: [{ slug: 'live', schema: 'public' }],
    isShared: true,
  }),
]

/**
 * Wharf's own database, and attached ones: one of them, unless tests are thorough.
 *
 * @param turn which one, so that each test file takes another.
 */
export const someLocations = (
  turn: number,
  attached: readonly Location[] = ATTACHED_LOCATIONS,
): readonly Location[] => [SHARED_LOCATION, ...attached.filter((_, at) => isThorough || at === turn % attached.length)]
