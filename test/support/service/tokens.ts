import { z } from 'zod'
import type { ApiClient } from '../http/api-client.ts'

const tokenSchema = z.object({ id: z.string(), token: z.string() })

export interface NewToken extends z.infer<typeof tokenSchema> {
  readonly client: ApiClient
}

/** Makes a token that has `role` in a project, or in several. */
export async function createToken(
  { root }: { readonly root: ApiClient },
  role: string,
  projects: string | readonly string[],
  fields: Readonly<Record<string, unknown>> = {},
): Promise<NewToken> {
  const memberships = [projects].flat().map((project) => ({ project, role }))
  const answer = await root.post('/tokens', { json: { name: `${role} of ${projects}`, memberships, ...fields } })
  const { id, token } = tokenSchema.parse(answer.json)
  return { id, token, client: root.withToken(token) }
}
