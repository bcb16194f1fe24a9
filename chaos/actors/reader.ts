import { z } from 'zod'
import { type Client, headerOf } from '../client.ts'
import { count, type Observation } from '../history.ts'
import { type Actor, act, now } from './actor.ts'

/** Asks again and again whether anything has changed, as a client does that keeps what it has read. */
export async function readConditionally(
  actor: Actor,
  { project, table, pauseMs }: { project: string; table: string; pauseMs: number },
): Promise<void> {
  const { client, history, random } = actor
  let sent: string | undefined
  await act(actor, pauseMs, async () => {
    const begin = now()
    const answer = await client.ask({
      method: 'GET',
      path: `/content/${project}/live/${table}?order=id&limit=${random.integer(1, 5)}`,
      headers: { 'x-service-ref': sent ?? 'first' },
    })
    count(history, `reads: ${answer?.status ?? 'no answer'}`)
    if (answer?.status !== 200 && answer?.status !== 304) return
    const got = headerOf(answer, 'x-service-ref')
    history.reads.push({ begin, project, status: answer.status, sent, got })
    sent = got
  })
}

const rowsSchema = z.array(z.object({ id: z.string(), n: z.number() }))

/** Reads a whole table, often with a reference, and keeps what it was told that the rows are: by 304, those of before. */
export async function readKeptRows(
  actor: Actor,
  { project, table, pauseMs }: { project: string; table: string; pauseMs: number },
): Promise<void> {
  const { client, history, random } = actor
  const path = `/content/${project}/live/${table}?order=id`
  let kept: { readonly reference: string; readonly rows: Observation['rows'] } | undefined
  await act(actor, pauseMs, async () => {
    const since = now()
    const sent = random.chance(0.7) ? kept : undefined
    const headers = { 'x-service-ref': sent?.reference ?? 'none' }
    const answer = await client.ask({ method: 'GET', path, headers })
    count(history, `reads of rows that were kept: ${answer?.status ?? 'no answer'}`)
    if (answer?.status === 200) {
      const rows = rowsSchema.parse(JSON.parse(answer.body.toString())).map(({ id, n }) => [id, n] as const)
      kept = { reference: headerOf(answer, 'x-service-ref') ?? '', rows }
    }
    const rows = answer?.status === 304 ? sent?.rows : answer?.status === 200 ? kept?.rows : undefined
    if (rows) history.observations.push({ what: `a ${answer?.status}`, project, since, until: now(), rows })
  })
}

/**
 * Reads a table with the reference of the rows that it has just got, when nobody writes any more: an answer that says
 * that nothing has changed must be true of the rows themselves.
 */
export async function checkUnchanged(
  client: Client,
  { project, table }: { project: string; table: string },
): Promise<readonly string[]> {
  const path = `/content/${project}/live/${table}?order=id&limit=1000`
  const read = (reference: string) =>
    client.askUntilAnswered({ method: 'GET', path, headers: { 'x-service-ref': reference } })
  const first = await read('first')
  const again = await read(headerOf(first, 'x-service-ref') ?? '')
  const fresh = await read('fresh')
  if (first.status !== 200 || again.status !== 304) return [`reads of ${project} were ${first.status}, ${again.status}`]
  return first.body.equals(fresh.body) ? [] : [`rows of ${project} are others than those that are said to be unchanged`]
}
