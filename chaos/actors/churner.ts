import { setTimeout as sleep } from 'node:timers/promises'
import { textOf } from '../client.ts'
import { count } from '../history.ts'
import { type Actor, act } from './actor.ts'

const READERS = 4

/** Makes projects and deletes them while they are read, written and exported. */
export async function churnProjects(actor: Actor, { name }: { name: string }): Promise<void> {
  const { client, history, random } = actor
  let made = 0

  const use = async (slug: string, isDeleted: () => boolean): Promise<void> => {
    while (!isDeleted()) {
      const path = `/content/${slug}/live/item`
      if (random.chance(0.2)) await client.ask({ method: 'POST', path, json: { n: 1 } })
      else if (random.chance(0.05)) await exportOnce(slug)
      else await client.ask({ method: 'GET', path: `${path}?n=gt.${random.integer(0, 1_000)}` })
    }
  }
  const exportOnce = (slug: string) =>
    client.ask({ method: 'POST', path: '/export', json: { projects: [{ slug, system: true }] } })

  await act(actor, 300, async () => {
    const slug = `${name}-${made++}`
    const created = await client.askUntilAnswered({ method: 'POST', path: '/projects', json: { slug } })
    // An answer that was lost: the project is there already when it is asked for again.
    if (created.status !== 201 && created.status !== 409) history.violations.push(`no project: ${textOf(created)}`)
    await client.askUntilAnswered({
      method: 'POST',
      path: `/projects/${slug}/stages/live/schema`,
      headers: { 'content-type': 'application/sql' },
      body: 'CREATE TABLE IF NOT EXISTS item (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n integer)',
    })
    let isDeleted = false
    const using = Array.from({ length: READERS }, () => use(slug, () => isDeleted))
    await sleep(random.between(100, 1_500))
    for (;;) {
      const answer = await client.askUntilAnswered({ method: 'DELETE', path: `/projects/${slug}` })
      if (answer.status === 204 || answer.status === 404) break
      // It is being read: that is a reason to try again.
      if (answer.status !== 409) history.violations.push(`a project was not deleted: ${textOf(answer)}`)
      await sleep(200)
    }
    isDeleted = true
    await Promise.all(using)
    count(history, 'projects made and deleted')
  })
}
