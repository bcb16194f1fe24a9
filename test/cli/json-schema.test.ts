import { expect, test } from 'vitest'
import { commandLineSchema } from '../../scripts/command-line-schema.ts'
import { runCommand } from '../support/cli/cli.ts'
import { assertConforms } from '../support/cli/conformance.ts'

/*
 * After a change of what commands print: npx vitest run test/cli/json-schema.test.ts -u
 */

const schema = commandLineSchema()

test('docs/command-line.schema.json is made from the schemas of results', async () => {
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot('../../docs/command-line.schema.json')
})

test('each command with --json has a schema, and no other', async () => {
  const { stdout: help } = await runCommand(['--help'])
  const commands = [...help.matchAll(/^ {2}([a-z]+(?::[a-z]+)?) {2,}/gm)].map(([, name = '']) => name)
  const described = commands.filter((name) => name !== 'help')
  const helps = await Promise.all(described.map((name) => runCommand([name, '--help'])))
  const withJson = described.filter((_, index) => helps[index]?.stdout.includes('--json'))
  expect(Object.keys(schema.$defs).sort()).toEqual([...withJson, 'error'].sort())
})

test('an output that lacks a field, or is of a command without a schema, does not conform', () => {
  const printed = (stdout: string) => ({ code: 0, stdout, stderr: '' })
  assertConforms(['profile:remove', '--json'], printed('{"profile":"shop"}'))
  expect(() => assertConforms(['profile:remove', '--json'], printed('{}'))).toThrow(/must have required/)
  expect(() => assertConforms(['shop:open', '--json'], printed('{}'))).toThrow(/says nothing/)
})
