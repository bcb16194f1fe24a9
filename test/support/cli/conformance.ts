import { Ajv2020 } from 'ajv/dist/2020.js'
import { commandLineSchema } from '../../../scripts/command-line-schema.ts'

const { $defs } = commandLineSchema()
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
const validators = new Map(Object.entries($defs).map(([name, schema]) => [name, ajv.compile(schema)] as const))

/** Holds what a command printed with `--json` against the schema in docs. @throws where it does not conform. */
export function assertConforms(args: readonly string[], { code, stdout, stderr }: Printed): void {
  if (!args.includes('--json') || args.includes('--help') || code === null) return
  if (stdout.startsWith('{') && !args.includes('-')) assertMatches(args[0] ?? '', stdout)
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  if (last.startsWith('{"error":')) assertMatches('error', last)
}

interface Printed {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function assertMatches(name: string, json: string): void {
  const validate = validators.get(name)
  if (!validate) throw new Error(`docs/command-line.schema.json says nothing of what ${name} prints with --json`)
  if (!validate(JSON.parse(json)))
    throw new Error(`${name} prints what its schema does not allow: ${ajv.errorsText(validate.errors)}\n${json}`)
}
