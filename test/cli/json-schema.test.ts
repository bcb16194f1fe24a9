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

const printed = (stdout: string, stderr = '', code = 0) => ({ code, stdout, stderr })
const FAILED = '{"error":{"code":"NOT_FOUND","detail":"no","errors":[]}}'

test('an output conforms whose fields are those of its schema, on standard error, too, where the archive is on the other', () => {
  assertConforms(['profile:remove', '--json'], printed('{"profile":"shop"}'))
  assertConforms(['profile:remove', '--json'], printed('', `note: more\n${FAILED}\n`, 1))
  const toStandardOutput = ['data:export', '--json', '--output', '-']
  expect(() => assertConforms(toStandardOutput, printed('rows', '{}\n'))).toThrow(/must have required/)
})

test.each([
  ['lacks a field', printed('{}'), /must have required/],
  ['has another field', printed('{"profile":"shop","since":1}'), /must NOT have additional/],
  [
    'is an error with another field',
    printed('', FAILED.replace('"no"', '"no","since":1'), 1),
    /must NOT have additional/,
  ],
  ['is an error in words', printed('', 'error: no\n', 1), /says nothing in JSON/],
])('an output that %s does not conform', (_, output, said) => {
  expect(() => assertConforms(['profile:remove', '--json'], output)).toThrow(said)
})

test('an output of a command without a schema does not conform', () => {
  expect(() => assertConforms(['shop:open', '--json'], printed('{}'))).toThrow(/says nothing/)
})
