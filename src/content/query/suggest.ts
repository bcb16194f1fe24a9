/** How many single characters have to be changed, added, removed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const changed = (row[j - 1] ?? 0) + (same ? 0 : 1)
      const swapped =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? Number.POSITIVE_INFINITY) + 1 : changed
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, changed, swapped))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** @returns `; did you mean "name"?` for the known name that is nearest, or nothing where none is near. */
export function suggest(name: string, known: Iterable<string>): string {
  const wanted = name.slice(0, 64).toLowerCase()
  let nearest: string | undefined
  let least = Math.ceil(wanted.length / 3) + 1
  for (const candidate of known) {
    const away = distance(wanted, candidate.toLowerCase())
    if (away < least) {
      least = away
      nearest = candidate
    }
  }
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}
