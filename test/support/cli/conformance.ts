import { Ajv2020 } from 'ajv/dist/2020.js'
import { exactDefinitions } from '../../../scripts/command-line-schema.ts'
import { EXIT } from '../../../src/cli/exit-codes.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
const validators = new Map(
  Object.entries(exactDefinitions()).map(([name, schema]) => [name, ajv.compile(schema)] as const),
)

interface Printed {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Holds what a command printed with `--json` against the schema of it, and of errors. A field that the schema does not
 * name fails, too.
 *
 * @throws where it does not conform.
 */
export function assertConforms(args: readonly string[], { code, stdout, stderr }: Printed): void {
  if (!args.includes('--json') || args.includes('--help') || code === null || code === EXIT.interrupted) return
  const [name = ''] = args
  const lastError = stderr.trimEnd().split('\n').at(-1) ?? ''
  // Standard output has the archive itself then.
  const result = name === 'data:export' && args.includes('-') ? lastError : stdout
  if (lastError.startsWith('{"error":')) assertMatches('error', lastError)
  // `doctor` and `status` print what they found wrong, and `job:watch` a job that failed.
  else if (code === EXIT.done || result.startsWith('{')) assertMatches(name, result)
  // The question has been answered with no.
  else if (!lastError.startsWith('go on?')) throw new Error(`${name} says nothing in JSON of its failure:\n${stderr}`)
}

function assertMatches(name: string, json: string): void {
  const validate = validators.get(name)
  if (!validate) throw new Error(`docs/command-line.schema.json says nothing of what ${name} prints with --json`)
  if (!validate(JSON.parse(json)))
    throw new Error(`${name} prints what its schema does not allow: ${ajv.errorsText(validate.errors)}\n${json}`)
}
