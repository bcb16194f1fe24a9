import { count } from '../history.ts'
import { type Actor, act, now } from './actor.ts'
import { runJob } from './jobs.ts'
import { createToken } from './tokens.ts'

/**
 * Copies a project over another one.
 *
 * @param readRows what the other one has now; undefined where the database cannot be asked.
 */
export async function transferProject(
  actor: Actor,
  {
    from,
    to,
    readRows,
  }: { from: string; to: string; readRows: () => Promise<readonly (readonly [string, number])[] | undefined> },
): Promise<void> {
  const { client, history } = actor
  await act(actor, 2_000, async () => {
    const { id: tokenId, token } = await createToken(client, from, to)
    const since = now()
    const json = { source: { project: from }, target: { project: to } }
    const job = await runJob(client, history, { method: 'POST', path: '/transfer', json, token })
    count(history, `transfers: ${job?.status === 'succeeded' ? 'done' : 'refused'}`)
    const until = now()
    const outcome = job?.status === 'succeeded' ? 'done' : 'refused'
    history.replacements.push({ kind: 'transfer', project: to, tokenId, begin: since, end: until, outcome })
    const rows = job?.status === 'succeeded' ? await readRows() : undefined
    if (rows) history.observations.push({ what: 'a transfer', project: from, since, until, rows })
  })
}
