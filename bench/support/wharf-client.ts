import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import { z } from 'zod'
import type { Coding } from '../../src/lib/coding.ts'
import type { BenchService } from './start-service.ts'

export const PROJECT = 'bench'

/** Creates the bench's project with the tables that `schema` describes. */
export async function createProject(service: BenchService, schema: string): Promise<void> {
  await post(service, '/projects', 'application/json', JSON.stringify({ slug: PROJECT }))
  await applyScript(service, schema)
}

/** Applies SQL to the stage of the bench's project. */
export async function applyScript(service: BenchService, script: string): Promise<void> {
  await post(service, `/projects/${PROJECT}/stages/live/schema`, 'application/sql', script)
}

/** Makes a token with a role in the bench's project. */
export async function createToken(service: BenchService, role: string): Promise<string> {
  const body = JSON.stringify({ name: role, memberships: [{ project: PROJECT, role }] })
  const answer = await post(service, '/tokens', 'application/json', body)
  return z.object({ token: z.string() }).parse(JSON.parse(answer)).token
}

/** Exports the bench's project into a file, compressed or plain. @param jobs sessions that read; the service decides where it is undefined. */
export async function exportToFile(
  service: BenchService,
  coding: Coding | 'plain',
  path: string,
  jobs?: number,
): Promise<void> {
  const { statusCode, body } = await request(`${service.url}/export`, {
    method: 'POST',
    headers: {
      ...service.headers,
      'content-type': 'application/json',
      ...(coding !== 'plain' && { 'content-encoding': coding }),
    },
    body: JSON.stringify({ projects: [{ slug: PROJECT, system: false }], jobs }),
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new Error(`the export answered ${statusCode}: ${await body.text()}`)
  await pipeline(body, createWriteStream(path))
}

/** Imports an archive, compressed with gzip, over what the bench's project has. */
export async function importFile(service: BenchService, path: string): Promise<void> {
  const { statusCode, body } = await request(`${service.url}/import?targetSlug=${PROJECT}`, {
    method: 'POST',
    headers: { ...service.headers, 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
    body: createReadStream(path, { highWaterMark: 256 * 1024 }),
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`the import answered ${statusCode}: ${text}`)
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
