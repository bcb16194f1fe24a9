import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { PROGRAM } from '../processes/child.ts'
import { PROCESS_FLAGS } from '../processes/node-flags.ts'
import { temporaryFolder } from '../processes/processes.ts'

const run = promisify(execFile)

/**
 * The commands of a page of docs, block by block, but for those that run the service.
 *
 * @param heading of the section whose blocks are wanted, `### Recovering`; all of the page without it.
 */
export async function readCommands(page: string, heading?: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  const begin = heading === undefined ? 0 : text.indexOf(`\n${heading}\n`)
  if (begin < 0) throw new Error(`docs/${page} has no section "${heading}"`)
  const length = heading === undefined ? -1 : text.slice(begin + 1).search(/\n#{2,3} /)
  const section = length < 0 ? text.slice(begin) : text.slice(begin, begin + 1 + length)
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
}

/** All blocks of a guide that a reader runs, each with its language, `sh`, `sh service` or `sql`. */
export async function readBlocks(
  page: string,
): Promise<readonly { readonly language: string; readonly text: string }[]> {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, language = '', block = '']) => ({ language, text: block }))
}

/** npm as the guides use it, for this build: the options after `--` are the program's. */
const npm = (): string => `#!/bin/sh
[ "$1" = ci ] && exit
shift 2
for each; do shift; [ "$each" = -- ] || set -- "$@" "$each"; done
exec "${process.execPath}" ${PROCESS_FLAGS.join(' ')} "${PROGRAM}" "$@"
`

/** Types commands in a folder of their own. @param variables of the environment, besides a home. */
export async function openTerminal(variables: Readonly<Record<string, string>>) {
  const [folder, programs] = [await temporaryFolder(), await temporaryFolder()]
  await writeFile(join(programs, 'npm'), npm(), { mode: 0o755 })
  const env = { PATH: `${programs}${delimiter}${process.env.PATH}`, HOME: inject('home'), ...variables }
  return {
    folder,
    type: async (text: string): Promise<string> => (await run('sh', ['-e', '-c', text], { cwd: folder, env })).stdout,
  }
}
