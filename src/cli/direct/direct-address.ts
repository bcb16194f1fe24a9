import { parsePostgresAddress } from '../../database/address/parse-address.ts'
import { resolveAddress } from '../../database/address/resolve-address.ts'
import type { ServerChoice } from '../../database/address/server-connection.ts'
import { wrongUse } from '../../errors.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import type { CommandContext } from '../environment.ts'
import { printable } from '../terminal/printable.ts'
import { type NamedStage, usualStages } from '../usual-stages.ts'

/** A database that is named by its address where a project could be. */
export interface DirectAddress {
  /** Without password and parameters, for messages. */
  readonly name: string
  readonly choice: ServerChoice
  /** What the project is called in archives. */
  readonly project: string
  readonly stages: readonly NamedStage[]
}

/** @throws {AppError} WRONG_USE where the address is not understood; nothing of it is quoted but names of schemas. */
export async function readDirectAddress({ environment }: CommandContext, text: string): Promise<DirectAddress> {
  const address = parsePostgresAddress(text)
  const stages = usualStages(address.schemas)
  const nameless = stages.find(({ slug }) => !SLUG_PATTERN.test(slug))
  if (nameless) {
    throw wrongUse(
      printable(
        `the schema "${nameless.schema}" cannot give its stage its name beside others: it takes a lower-case letter, then letters, digits, "-" or "_"; name this schema alone, or attach the database (project:attach), where --stage names stages`,
      ),
    )
  }
  const choice = await resolveAddress(address, {
    environment: await environment.readAddressEnvironment(),
    mayNameFiles: true,
  })
  return { name: choice.first.name, choice, project: toSlug(choice.first.database), stages }
}

/** The longest slug. */
const MAX_LENGTH = 63

/** @returns the name itself where it is a slug, and otherwise one that resembles it. */
export function toSlug(name: string): string {
  if (SLUG_PATTERN.test(name)) return name
  const resembling = name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, MAX_LENGTH)
  return resembling || 'database'
}
