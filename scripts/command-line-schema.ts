import { z } from 'zod'
import { failureSchema, RESULTS } from '../src/cli/results.ts'

/** The JSON Schema of what a command prints. Objects are open: later versions may add fields. */
function toDefinition(schema: z.ZodType): object {
  const { $schema, ...definition } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties
      delete jsonSchema.id
      // The format says it, and the pattern of a time has 400 characters.
      if (jsonSchema.format) delete jsonSchema.pattern
    },
    metadata: z.registry(),
  })
  return definition
}

/** What `docs/command-line.schema.json` has: a definition for each command, by its name, and `error`. */
export const commandLineSchema = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'What the commands of Wharf print with --json',
  $defs: Object.fromEntries(
    Object.entries({ ...RESULTS, error: failureSchema }).map(([name, schema]) => [name, toDefinition(schema)]),
  ),
})
