import { request } from 'undici'
import { z } from 'zod'
import type { Coding } from '../../src/lib/coding.ts'
import { quote, runShell } from './commands.ts'
import type { BenchService } from './start-service.ts'

export const PROJECT = 'bench'

/** Creates the bench's project, or another one, with the tables that `schema` describes. */
export async function createProject(service: BenchService, schema: string, slug = PROJECT): Promise<void> {
  await post(service, '/projects', 'application/json', JSON.stringify({ slug }))
  await applyScript(service, schema, slug)
}

/** Applies SQL to the stage of the bench's project, or of another one. */
export async function applyScript(service: BenchService, script: string, slug = PROJECT): Promise<void> {
  await post(service, `/projects/${slug}/stages/live/schema`, 'application/sql', script)
}

/** Makes a token with a role in the bench's project. */
export async function createToken(service: BenchService, role: string): Promise<string> {
  const body = JSON.stringify({ name: role, memberships: [{ project: PROJECT, role }] })
  const answer = await post(service, '/tokens', 'application/json', body)
  return z.object({ token: z.string() }).parse(JSON.parse(answer)).token
}

/**
 * Exports the bench's project into a file, compressed or plain, as users do: by curl, which takes little of the processors.
 *
 * @param jobs sessions that read; the service decides where it is undefined.
 */
export const exportToFile = (
  service: BenchService,
  coding: Coding | 'plain',
  path: string,
  options: { readonly jobs?: number | undefined; readonly maxBytesPerSecond?: number } = {},
): Promise<void> =>
  curl(service, '/export', [
    ...['--header', 'content-type: application/json'],
    ...(coding === 'plain' ? [] : ['--header', `content-encoding: ${coding}`]),
    ...['--data', JSON.stringify({ projects: [{ slug: PROJECT, system: false }], ...options })],
    ...['--output', path],
  ])

/** How long an export takes until its first byte comes, in seconds: all that is checked, locked and declared before a row is read. */
export async function timeToOpen({ url, headers }: BenchService): Promise<number> {
  const body = JSON.stringify({ projects: [{ slug: PROJECT, system: false }], jobs: 1 })
  const askedAt = performance.now()
  const answer = await request(`${url}/export`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
  const seconds = (performance.now() - askedAt) / 1_000
  // Nobody reads the rest.
  answer.body.on('error', () => undefined).destroy()
  if (answer.statusCode !== 200) throw new Error(`POST /export answered ${answer.statusCode}`)
  return seconds
}

/** Imports an archive, compressed with gzip, over what the bench's project has. */
export const importFile = (service: BenchService, path: string): Promise<void> =>
  curl(service, `/import?targetSlug=${PROJECT}`, [
    ...['--header', 'content-type: application/x-ndjson', '--header', 'content-encoding: gzip', '--header', 'expect:'],
    ...['--request', 'POST', '--upload-file', path],
  ])

function curl({ url, headers }: BenchService, path: string, options: readonly string[]): Promise<void> {
  const ours = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])
  return runShell(['curl', '--silent', '--show-error', '--fail', ...ours, ...options, url + path].map(quote).join(' '))
}

async function post({ url, headers }: BenchService, path: string, contentType: string, body: string): Promise<string> {
  const answer = await request(url + path, {
    method: 'POST',
    headers: { ...headers, 'content-type': contentType },
    body,
  })
  const text = await answer.body.text()
  if (answer.statusCode >= 300) throw new Error(`POST ${path} answered ${answer.statusCode}: ${text}`)
  return text
}
