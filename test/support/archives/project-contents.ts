import { ROOT_TOKEN, type TestWharf } from '../service/wharf.ts'
import { linesOf } from './archive-text.ts'

/** The DSN of a project of a test's server, or of its relay. */
export const dsnOf = ({ url }: { readonly url: string }, project = '', token = ROOT_TOKEN): string =>
  `wharf://${project}:${token}@${new URL(url).host}`

/** An archive of a project. */
export async function exportProject({ root }: TestWharf, slug: string, system = false): Promise<string> {
  const { status, text } = await root.post('/export', { json: { projects: [{ slug, system }] } })
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return text
}

/** All that an archive says about a project's stages: the same for two projects that have the same. */
export async function contentsOf(wharf: TestWharf, slug: string): Promise<readonly string[]> {
  const lines = linesOf(await exportProject(wharf, slug))
  return lines.slice(
    lines.findIndex((line) => line.startsWith('{"stage":')),
    -2,
  )
}
