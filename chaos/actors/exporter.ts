import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { count, type Observation } from '../history.ts'
import { type Actor, act, now } from './actor.ts'
import { runJob } from './jobs.ts'

/** Exports a project, by jobs and by single requests, and keeps what the archives hold for comparing. */
export async function exportProject(actor: Actor, { project }: { project: string }): Promise<void> {
  const { client, history, random } = actor
  const call = {
    method: 'POST',
    path: '/export',
    json: { projects: [{ slug: project, system: false }] },
    headers: { 'content-encoding': 'gzip' },
  } as const

  const exportAtOnce = async (): Promise<Buffer | undefined> => {
    const answer = await client.ask(call)
    return answer?.status === 200 ? answer.body : undefined
  }
  const exportAsJob = async (): Promise<Buffer | undefined> => {
    const job = await runJob(client, history, call)
    if (job?.status !== 'succeeded') return undefined
    const file = await client.askUntilAnswered({ method: 'GET', path: `/jobs/${job.id}/file` })
    if (file.status !== 200) history.violations.push(`the archive of job ${job.id} is not to be had: ${file.status}`)
    return file.status === 200 ? file.body : undefined
  }

  await act(actor, 700, async () => {
    const begin = now()
    const archive = await (random.chance(0.5) ? exportAtOnce() : exportAsJob())
    count(history, `exports: ${archive ? 'done' : 'not done'}`)
    if (!archive) return
    const rows = rowsOf(archive)
    if (rows) history.observations.push({ what: 'an archive', project, since: begin, until: now(), rows })
    else history.violations.push('an archive that came whole has no end')
  })
}

const rowSchema = z.object({ row: z.tuple([z.string(), z.number()]) })

/** @returns undefined where the archive has no end. */
function rowsOf(archive: Buffer): Observation['rows'] | undefined {
  const lines = gunzipSync(archive).toString().trimEnd().split('\n')
  if (!lines.at(-1)?.startsWith('{"end":')) return undefined
  return lines.filter((line) => line.startsWith('{"row":')).map((line) => rowSchema.parse(JSON.parse(line)).row)
}
