import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installPackage } from '../support/clients/package-user.ts'
import { newerNode } from '../support/processes/newer-node.ts'
import { createProject } from '../support/service/projects.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'

/** Each of these has to be refused. */
const WRONG = `
  import { createClient } from 'wharf/client'
  const wharf = createClient({ url: 'http://127.0.0.1:4000', token: '' })
  // @ts-expect-error no such path
  await wharf.get('/no-such-path')
  // @ts-expect-error the path needs a name
  await wharf.get('/projects/{slug}')
  // @ts-expect-error no such parameter
  await wharf.get('/jobs', { params: { query: { limmit: 3 } } })
  // @ts-expect-error it is a number
  ;(await wharf.get('/projects')).items satisfies number
`

let wharf: TestWharf
let user: Awaited<ReturnType<typeof installPackage>>

beforeAll(async () => {
  wharf = await startWharf({ worker: true })
  user = await installPackage()
  await createProject(wharf, 'demo', await readFile('demo/harbour.sql', 'utf8'))
  await user.write('wrong.ts', WRONG)
  await user.write('guide.ts', inOneFile(await readFile('docs/client.md', 'utf8')))
})

afterAll(async () => {
  await user?.remove()
  await wharf?.close()
})

/** The examples of a page, one after the other. What a later one imports again is imported once. */
function inOneFile(page: string): string {
  const lines = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) => block.split('\n'))
  const imports = lines.filter((line) => line.startsWith('import '))
  return [...new Set(imports), ...lines.filter((line) => !line.startsWith('import '))].join('\n')
}

test('the examples of docs/client.md have the types of the package, and wrong calls are refused', async () => {
  expect(await user.checkTypes()).toBe('')
})

const NODES = [['this Node.js', process.execPath] as const, ['Node.js 24', newerNode()] as const]

test.each(NODES.filter(([, node]) => node))('the examples do what they say, on %s', async (_, node) => {
  const printed = await user.run('guide.ts', { WHARF_URL: wharf.url, WHARF_TOKEN: ROOT_TOKEN }, node)
  expect(printed).toContain("[ 'demo' ]\n")
  expect(printed).toMatch(/^NOT_FOUND .* Check the name/m)
  expect(printed).toMatch(/succeeded \d+ 100/)
  expect(printed).toMatch(/to go on: [0-9a-f-]{36}/)
  expect(printed).toMatch(/\n\[ ('[^']+'(, )?){3} \]\nfalse\n$/)
})
