import { conflict, notFound } from '../errors.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const isId = (text: string): boolean => UUID.test(text)

/**
 * Finds what is meant by a name, or by an id.
 *
 * @param what the kind of thing, e.g. `schedule`.
 * @throws {AppError} NOT_FOUND; CONFLICT where several have the name, with their ids.
 */
export function findNamed<T extends { readonly id: string; readonly name: string }>(
  things: readonly T[],
  what: string,
  text: string,
): T {
  const found = things.filter(({ id, name }) => (isId(text) ? id === text.toLowerCase() : name === text))
  const [thing] = found
  if (!thing) throw notFound(what, text)
  if (found.length === 1) return thing
  throw conflict(
    `${found.length} ${what}s are called "${text}": name one by its id (${found.map(({ id }) => id).join(', ')})`,
  )
}
