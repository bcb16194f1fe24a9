export interface TurnLine {
  /** Resolves when there is a turn for this; it has been counted by then. @throws what `failure` gives. */
  enter(names: readonly string[]): Promise<void>
  /** Gives its turn back, to those who may go then. */
  leave(names: readonly string[]): void
}

export interface TurnLineOptions {
  /**
   * @param taken how many have a turn, by name.
   * @param total how many have one in all.
   */
  readonly mayGo: (names: readonly string[], taken: ReadonlyMap<string, number>, total: number) => boolean
  /** How long to wait for a turn, in milliseconds. */
  readonly waitMs: number
  /** What is thrown after that. */
  readonly failure: (names: readonly string[], taken: ReadonlyMap<string, number>) => Error
}

/** Lets in what may go. What has waited the longest goes first, but for what may not go yet. */
export function createTurnLine({ mayGo, waitMs, failure }: TurnLineOptions): TurnLine {
  const taken = new Map<string, number>()
  const waiting = new Set<{ readonly names: readonly string[]; readonly go: () => void }>()
  let total = 0

  const count = (names: readonly string[], change: 1 | -1): void => {
    total += change
    for (const name of names) {
      const now = (taken.get(name) ?? 0) + change
      if (now === 0) taken.delete(name)
      else taken.set(name, now)
    }
  }

  const wait = (names: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(asking)
        reject(failure(names, taken))
      }, waitMs)
      const asking = {
        names,
        go() {
          waiting.delete(asking)
          clearTimeout(timer)
          resolve()
        },
      }
      waiting.add(asking)
    })

  return {
    async enter(names) {
      if (mayGo(names, taken, total)) count(names, 1)
      else await wait(names)
    },
    leave(names) {
      count(names, -1)
      for (const next of waiting) {
        if (!mayGo(next.names, taken, total)) continue
        count(next.names, 1)
        next.go()
      }
    },
  }
}
