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

/**
 * The known name that is most like another one; null where none is alike enough.
 *
 * @param least how large the part of the longer name must be in which they agree, e.g. 0.75.
 */
export function mostAlike(name: string, known: Iterable<string>, least: number): string | null {
  const wanted = name.slice(0, 64).toLowerCase()
  let best: { readonly candidate: string | null; readonly similarity: number } = { candidate: null, similarity: 0 }
  for (const candidate of known) {
    const { similarity } = distance(wanted, candidate.toLowerCase())
    if (similarity >= least && similarity > best.similarity) best = { candidate, similarity }
  }
  return best.candidate
}
