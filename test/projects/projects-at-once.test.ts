import { expect, test } from 'vitest'
import { describeOnEachServer } from '../support/servers/each-server.ts'

describeOnEachServer(
  (wharf) => {
    const create = (slug: string) => wharf().root.post('/projects', { json: { slug } })
    const remove = (slug: string) => wharf().root.delete(`/projects/${slug}`)

    test('projects that are made and deleted at the same time are not in the way of each other', async () => {
      const first = await Promise.all(['one', 'two', 'three', 'four'].map(create))
      expect(first.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      const then = await Promise.all([remove('one'), create('five'), remove('two'), create('six'), remove('three')])
      expect(then.map(({ status }) => status)).toEqual([204, 201, 204, 201, 204])
    })
  },
  { oneIsEnough: true },
)
