import distance from 'damerau-levenshtein'

/** @returns `; did you mean "name"?` for the known name that is nearest, or nothing where none is near. */
export function suggest(name: string, known: Iterable<string>): string {
  const nearest = nearestTo(name, known)
  return nearest === null ? '' : `; did you mean "${nearest}"?`
}

/** The known name that is nearest; null where none is near. */
export function nearestTo(name: string, known: Iterable<string>): string | null {
  const wanted = name.slice(0, 64).toLowerCase()
  let nearest = { candidate: '', steps: Math.ceil(wanted.length / 3) + 1 }
  for (const candidate of known) {
    const { steps } = distance(wanted, candidate.toLowerCase())
    if (steps < nearest.steps) nearest = { candidate, steps }
  }
  return nearest.candidate === '' ? null : nearest.candidate
}

/** Longer texts are compared by their beginnings. */
const MAX_LENGTH = 200

/** As many of those that have most in common with a text are compared with it letter by letter. */
const MAX_COMPARED = 50

/**
 * The known text that is most like another one, as PostgREST's hints have it: they have a piece of three letters in common, or else
 * of two. Null where none is alike enough.
 *
 * @param least how large the part of the longer text must be in which they agree, e.g. 0.75.
 * @see https://github.com/laserpants/fuzzyset-haskell
 */
export function mostAlike(text: string, known: Iterable<string>, least: number): string | null {
  const sought = text.slice(0, MAX_LENGTH).toLowerCase()
  const candidates = [...new Set(known)].map((candidate) => ({
    candidate,
    compared: candidate.slice(0, MAX_LENGTH).toLowerCase(),
  }))
  for (const size of [3, 2]) {
    const wanted = [...piecesOf(sought, size)]
    const inCommon = (compared: string): number => {
      const pieces = piecesOf(compared, size)
      return wanted.filter((piece) => pieces.has(piece)).length
    }
    const [nearest] = candidates
      .map((each) => ({ ...each, common: inCommon(each.compared) }))
      .filter(({ common }) => common > 0)
      .toSorted((a, b) => b.common - a.common)
      .slice(0, MAX_COMPARED)
      .map(({ candidate, compared }) => ({ candidate, likeness: distance(sought, compared).similarity }))
      .filter(({ likeness }) => likeness >= least)
      .toSorted((a, b) => b.likeness - a.likeness)
    if (nearest) return nearest.candidate
  }
  return null
}

/** The pieces of a text, which begins and ends with `-`: letters, digits, spaces and commas count. */
function piecesOf(text: string, size: number): ReadonlySet<string> {
  const letters = `-${text.replaceAll(/[^\p{L}\p{N}\s,]/gu, '')}-`
  return new Set(
    Array.from({ length: Math.max(0, letters.length - size + 1) }, (_, at) => letters.slice(at, at + size)),
  )
}
