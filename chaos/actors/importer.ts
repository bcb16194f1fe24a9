import { outcomeOf, textOf } from '../client.ts'
import { count, type Replacement } from '../history.ts'
import { type Actor, act, now } from './actor.ts'
import { runJob } from './jobs.ts'
import { createToken } from './tokens.ts'

/** Imports archives over a project, by jobs and by single requests. @param archives each compressed with gzip. */
export async function importArchives(
  actor: Actor,
  { project, archives }: { project: string; archives: readonly Buffer[] },
): Promise<void> {
  const { client, history, random } = actor
  await act(actor, 500, async () => {
    const archive = random.integer(0, archives.length)
    const { id: tokenId, token } = await createToken(client, project)
    const call = {
      method: 'POST',
      path: `/import?targetSlug=${project}`,
      headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
      body: archives[archive] ?? Buffer.alloc(0),
      token,
    } as const
    const begin = now()
    const outcome = random.chance(0.5) ? await importAtOnce(actor, call) : await importAsJob(actor, call)
    history.replacements.push({ kind: 'import', project, tokenId, archive, begin, end: now(), outcome })
    count(history, `imports: ${outcome}`)
  })
}

type ImportCall = Parameters<typeof runJob>[2]

async function importAtOnce({ client, history }: Actor, call: ImportCall): Promise<Replacement['outcome']> {
  const answer = await client.ask(call)
  const outcome = outcomeOf(answer)
  if (outcome === 'refused' && answer?.status !== 409)
    history.violations.push(`an import was refused: ${textOf(answer)}`)
  return outcome
}

async function importAsJob({ client, history }: Actor, call: ImportCall): Promise<Replacement['outcome']> {
  const job = await runJob(client, history, call)
  return job?.status === 'succeeded' ? 'done' : 'refused'
}

/** Takes the last import back, or takes that back. */
export async function undoImports(actor: Actor, { project }: { project: string }): Promise<void> {
  const { client, history } = actor
  await act(actor, 1_500, async () => {
    const { id: tokenId, token } = await createToken(client, project)
    const begin = now()
    const answer = await client.ask({ method: 'POST', path: `/projects/${project}/stages/live/undo?force=true`, token })
    const outcome = outcomeOf(answer)
    history.replacements.push({ kind: 'undo', project, tokenId, begin, end: now(), outcome })
    count(history, `undos: ${outcome}`)
    if (outcome === 'refused' && answer?.status !== 409)
      history.violations.push(`an undo was refused: ${textOf(answer)}`)
  })
}
