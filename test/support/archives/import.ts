import type { ApiAnswer, ApiClient, ApiRequest } from '../http/api-client.ts'

interface Sent {
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends an archive to be imported. */
export const sendArchive = (
  client: ApiClient,
  body: NonNullable<ApiRequest['body']>,
  { query = '', headers = {}, signal }: Sent = {},
): Promise<ApiAnswer> =>
  client.post(`/import${query}`, {
    headers: { 'content-type': 'application/x-ndjson', ...headers },
    body,
    ...(signal && { signal }),
  })

/** Exports one project. */
export async function exportOf(
  client: ApiClient,
  slug: string,
  selection: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const answer = await client.post('/export', { json: { projects: [{ slug, ...selection }] } })
  if (answer.status !== 200) throw new Error(`the export of ${slug} answered ${answer.status}: ${answer.text}`)
  return answer.text
}

/**
 * The lines of one project's archive that a restored copy has too: all but those with its time and the project's name, and
 * without the names of schemas where it was.
 */
export const comparableLines = (archive: string): string[] =>
  archive
    .split('\n')
    .filter((line) => !/^\{"(archive|project|projectEnd)":/.test(line))
    .map((line) => (/^\{"(stage|extension)":/.test(line) ? line.replace(/,"sourceSchema":"[^"]*"/, '') : line))

/** All that an archive says about a project's stages: the same for two projects that have the same. */
export const contentsOf = async ({ root }: { readonly root: ApiClient }, slug: string): Promise<readonly string[]> =>
  comparableLines(await exportOf(root, slug, { system: false }))
