import { expect } from 'vitest'
import { makeSchedule, type SeenSchedule } from '../jobs/schedules.ts'
import { createProject } from '../service/projects.ts'
import type { TestWharf } from '../service/wharf.ts'

/** A schedule that exports the stage `draft` of a new project. @returns how its runs are made to fail. */
export async function makeScheduleOfDraft(
  wharf: TestWharf,
  slug: string,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly schedule: SeenSchedule; readonly letFail: () => Promise<void> }> {
  await createProject(wharf, slug)
  const { root } = wharf
  expect((await root.post(`/projects/${slug}/stages`, { json: { slug: 'draft' } })).status).toBe(201)
  const request = { projects: [{ slug, stages: ['draft'] }] }
  return {
    schedule: await makeSchedule(root, slug, { ...fields, request }),
    async letFail() {
      expect((await root.delete(`/projects/${slug}/stages/draft`)).status).toBe(204)
    },
  }
}
