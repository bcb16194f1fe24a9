import { z } from 'zod'
import { failureSchema, RESULTS } from '../src/cli/results.ts'

/** The JSON Schema of what a command prints. @param isOpen whether objects may have fields that it does not name. */
function toDefinition(schema: z.ZodType, isOpen: boolean): object {
  const { $schema, ...definition } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      if (isOpen) delete jsonSchema.additionalProperties
      delete jsonSchema.id
      // The format says it, and the pattern of a time has 400 characters.
      if (jsonSchema.format) delete jsonSchema.pattern
    },
    metadata: z.registry(),
  })
  return definition
}

/** A definition for each command, by its name, and `error`. */
const definitions = (isOpen: boolean): Readonly<Record<string, object>> =>
  Object.fromEntries(
    Object.entries({ ...RESULTS, error: failureSchema }).map(([name, schema]) => [name, toDefinition(schema, isOpen)]),
  )

/** What this version prints, and no field more. */
export const exactDefinitions = () => definitions(false)

/** What `docs/command-line.schema.json` has. Objects are open there: later versions may add fields. */
export const commandLineSchema = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'What the commands of Wharf print with --json',
  $defs: definitions(true),
})
