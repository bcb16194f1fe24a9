/** Random choices that a seed decides. */
export interface Random {
  /** A number from `from` up to, but not including, `to`. */
  between(from: number, to: number): number
  /** The same, whole. */
  integer(from: number, to: number): number
  pick<T>(list: readonly [T, ...T[]]): T
  /** True with this probability. */
  chance(probability: number): boolean
}

/**
 * Mulberry32: small, and good enough to spread faults.
 *
 * @param seed decides all choices, together with `name`.
 * @param name lets several streams of choices follow from one seed, each independent of how often the others are asked.
 */
export function createRandom(seed: number, name: string): Random {
  let state = [...name].reduce((hash, character) => Math.imul(hash ^ character.charCodeAt(0), 0x01000193), seed | 0)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number): number => from + next() * (to - from)
  const integer = (from: number, to: number): number => Math.floor(between(from, to))
  return {
    between,
    integer,
    pick: (list) => list[integer(0, list.length)] ?? list[0],
    chance: (probability) => next() < probability,
  }
}
