import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Call, type Client, textOf } from '../client.ts'
import type { History } from '../history.ts'

const jobSchema = z.object({
  id: z.string(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
  error: z.object({ code: z.string(), detail: z.string() }).nullish(),
})

export type EndedJob = z.infer<typeof jobSchema>

/**
 * Asks for a job, with a key that makes asking again harmless, and waits for its end.
 *
 * @returns undefined where it was refused.
 */
export async function runJob(client: Client, history: History, call: Call): Promise<EndedJob | undefined> {
  const headers = { ...call.headers, prefer: 'respond-async', 'idempotency-key': randomUUID() }
  const answer = await client.askUntilAnswered({ ...call, headers })
  if (answer.status !== 202) {
    if (answer.status !== 409) history.violations.push(`a job was refused: ${call.path}: ${textOf(answer)}`)
    return undefined
  }
  const { id } = jobSchema.parse(JSON.parse(answer.body.toString()))
  for (;;) {
    const seen = await client.askUntilAnswered({ method: 'GET', path: `/jobs/${id}`, headers: { prefer: 'wait=5' } })
    const job = jobSchema.parse(JSON.parse(seen.body.toString()))
    if (job.status !== 'queued' && job.status !== 'running') {
      if (job.error?.code === 'INTERNAL') history.violations.push(`job ${id} failed: ${job.error.detail}`)
      return job
    }
    await sleep(100)
  }
}
