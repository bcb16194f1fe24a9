import { z } from 'zod'
import type { Client } from '../client.ts'

const createdSchema = z.object({ id: z.string(), token: z.string() })

/** Makes a token of its own for one act, by which the event log tells who did it. */
export async function createToken(
  client: Client,
  ...projects: readonly string[]
): Promise<z.infer<typeof createdSchema>> {
  const memberships = projects.map((project) => ({ project, role: 'admin' }))
  const json = { name: `admin of ${projects.join(' and ')}`, memberships }
  const answer = await client.askUntilAnswered({ method: 'POST', path: '/tokens', json })
  return createdSchema.parse(JSON.parse(answer.body.toString()))
}
