import { headerOf, outcomeOf, textOf } from '../client.ts'
import { addWrite, count, type Value, type Write } from '../history.ts'
import { type Actor, act, now } from './actor.ts'

/** Inserts, changes and deletes rows that nobody else writes. A row is left alone once the fate of a write is unknown. */
export async function writeRows(
  actor: Actor,
  { project, table, name, pauseMs }: { project: string; table: string; name: string; pauseMs: number },
): Promise<void> {
  const { client, history, random } = actor
  const known: string[] = []
  let rows = 0

  const write = async (id: string, kind: Write['kind'], value: Value): Promise<void> => {
    const path = `/content/${project}/live/${table}`
    const begin = now()
    const answer = await (kind === 'insert'
      ? client.ask({ method: 'POST', path, json: { id, n: value } })
      : value === null
        ? client.ask({ method: 'DELETE', path: `${path}?id=eq.${id}` })
        : client.ask({ method: 'PATCH', path: `${path}?id=eq.${id}`, json: { n: value } }))
    const outcome = outcomeOf(answer)
    const reference = outcome === 'done' ? headerOf(answer, 'x-service-ref') : undefined
    addWrite(history, project, { id, kind, value, begin, end: now(), outcome, reference })
    count(history, `writes to ${project}: ${outcome}`)
    if (outcome === 'refused' && answer?.status !== 409)
      history.violations.push(`a write was refused: ${textOf(answer)}`)
    if (outcome === 'unknown') known.splice(known.indexOf(id), known.includes(id) ? 1 : 0)
    else if (kind === 'insert' && outcome === 'done') known.push(id)
  }

  await act(actor, pauseMs, async () => {
    const value = random.integer(0, 1_000_000)
    const [first, ...others] = known
    if (first === undefined || random.chance(0.6)) return write(`${name}-${rows++}`, 'insert', value)
    await write(random.pick([first, ...others]), 'change', random.chance(0.3) ? null : value)
  })
}
