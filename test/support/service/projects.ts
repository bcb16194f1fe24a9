import { TestRunner } from 'vitest'
import { findProject, projectLogin } from '../../../src/projects/projects.ts'
import type { ApiAnswer } from '../http/api-client.ts'
import type { TestWharf } from './wharf.ts'

/** Makes a project, and in its stage `live` what the script says. */
export async function createProject({ root }: Pick<TestWharf, 'root'>, slug: string, script?: string): Promise<void> {
  // A test that is run once more would find what it made the first time.
  if (isRunAgain()) await root.delete(`/projects/${slug}`)
  await assertStatus(201, root.post('/projects', { json: { slug } }))
  if (script !== undefined) await assertStatus(200, applyScript({ root }, slug, script))
}

const isRunAgain = (): boolean => (TestRunner.getCurrentTest()?.result?.retryCount ?? 0) > 0

export const applyScript = (
  { root }: Pick<TestWharf, 'root'>,
  slug: string,
  script: string | Uint8Array,
  stage = 'live',
): Promise<ApiAnswer> =>
  root.post(`/projects/${slug}/stages/${stage}/schema`, {
    headers: { 'content-type': 'application/sql' },
    body: script,
  })

async function assertStatus(expected: number, asked: Promise<ApiAnswer>): Promise<void> {
  const { status, text } = await asked
  if (status !== expected) throw new Error(`${status}, not ${expected}: ${text}`)
}

/** The connection URL of a project's own login. */
export async function loginUrl({ container, database }: TestWharf, slug: string): Promise<URL> {
  const project = await findProject(container.control.prisma, slug)
  const login = await projectLogin(container.control.prisma, container.seal, project)
  if (!login) throw new Error(`${slug} is attached`)
  const url = new URL(database.url)
  url.username = login.name
  url.password = login.password
  if (login.ownDatabase !== undefined) url.pathname = `/${login.ownDatabase}`
  return url
}
