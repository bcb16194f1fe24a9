import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { runCommand } from '../support/cli/cli.ts'

const readDocs = (name: string): Promise<string> => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
const documentation = await readDocs('command-line.md')
const { stdout: help } = await runCommand(['--help'])
const commands = [...help.matchAll(/^ {2}([a-z]+(?::[a-z]+)?) {2,}/gm)].map(([, name = '']) => name)

test('there are commands', () => {
  expect(commands).toContain('data:export')
})

test.each(commands.filter((name) => name !== 'help'))('%s is documented, with each of its options', async (command) => {
  const { stdout } = await runCommand([command, '--help'])
  const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option = '']) => option)
  for (const word of [command, ...options]) expect(documentation).toContain(word)
})
