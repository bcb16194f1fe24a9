import { createTurns } from '../../lib/give-way.ts'
import { type Definition, findDefinitionFault } from './definition.ts'
import { loadGrammar } from './grammar.ts'

/** Types as PostgreSQL prints them, which are no more than that: nothing has to be loaded for them. */
const PLAIN_TYPE =
  /^(?:[a-z_][a-z0-9_]*|double precision|(?:character varying|character|bit varying|bit)(?:\(\d{1,9}\))?|numeric\(\d{1,4},-?\d{1,4}\)|time(?:stamp)?(?:\(\d\))? with(?:out)? time zone)(?:\[\])?$/

/**
 * Definitions that were found right, so that a stage that is exported every hour is parsed once: to parse takes a tenth of
 * a millisecond and more.
 */
const known = new Set<string>()
const MAX_KNOWN = 10_000
const MAX_KNOWN_LENGTH = 500

/** @returns what is wrong, for a message; undefined if nothing is. */
export type DefinitionCheck = (text: string, definition: Definition) => Promise<string | undefined>

/**
 * The check that every text of SQL passes before it is written into an archive, and again when it is read from one: see
 * `findDefinitionFault`. It gives way to others between two texts.
 */
export function createDefinitionCheck(): DefinitionCheck {
  const turn = createTurns()
  return async (text, definition) => {
    if (definition.form === 'type' && PLAIN_TYPE.test(text)) return undefined
    const key = JSON.stringify([definition, text])
    if (known.has(key)) return undefined
    const grammar = await loadGrammar()
    await turn()
    const fault = findDefinitionFault(grammar, text, definition)
    if (fault === undefined) remember(key)
    return fault
  }
}

function remember(key: string): void {
  if (key.length > MAX_KNOWN_LENGTH) return
  if (known.size >= MAX_KNOWN) known.clear()
  known.add(key)
}
