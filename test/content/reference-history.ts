/** One request, with the time between which it was under way. */
export interface Operation {
  readonly client: number
  readonly kind: 'read' | 'write'
  readonly begin: number
  readonly end: number
  readonly status: number
  /** The reference that a conditional read came with. */
  readonly asked: string | undefined
  /** The reference that was answered. */
  readonly reference: string
  readonly text: string
}

/**
 * Looks for what no order of the operations, each at one moment between its begin and its end, could explain. Since
 * every write has a reference of its own, and the log says in which order they were committed, that is simple to tell.
 *
 * @param order all references, in the order of commit.
 * @returns what is wrong, a sentence each; empty where the history is linearizable.
 */
export function checkHistory(history: readonly Operation[], order: readonly string[]): string[] {
  const positions = new Map(order.map((reference, index) => [reference, index]))
  const positionOf = ({ reference }: Operation): number => positions.get(reference) ?? -1
  return [
    ...strangeAnswers(history, positions),
    ...staleReads(history, positionOf),
    ...twoBodies(history),
    ...stepsBack(history, positionOf),
  ]
}

function strangeAnswers(history: readonly Operation[], positions: ReadonlyMap<string, number>): string[] {
  return history.flatMap(({ kind, status, asked, reference }) => {
    const expected = kind === 'write' ? [204] : asked === undefined ? [200] : [200, 304]
    if (!expected.includes(status)) return [`a ${kind} was answered with ${status}`]
    if (!positions.has(reference)) return [`no event has the reference "${reference}"`]
    if (status === 304 && asked !== reference) return [`304 for ${reference}, though ${asked} was asked`]
    return []
  })
}

/** A read must not be older than the newest write, or read, that had ended before it began. */
function staleReads(history: readonly Operation[], positionOf: (operation: Operation) => number): string[] {
  const byEnd = history.toSorted((a, b) => a.end - b.end)
  const found: string[] = []
  let newest = -1
  let next = 0
  for (const operation of history.toSorted((a, b) => a.begin - b.begin)) {
    for (let ended = byEnd[next]; ended && ended.end < operation.begin; ended = byEnd[next]) {
      newest = Math.max(newest, positionOf(ended))
      next += 1
    }
    const seen = positionOf(operation)
    if (operation.kind === 'read' && seen < newest) {
      found.push(`${operation.status} with change ${seen}, after change ${newest} had been seen or acknowledged`)
    }
  }
  return found
}

function twoBodies(history: readonly Operation[]): string[] {
  const bodies = new Map<string, string>()
  return history.flatMap(({ kind, status, reference, text }) => {
    if (kind !== 'read' || status !== 200) return []
    const known = bodies.get(reference) ?? text
    bodies.set(reference, known)
    return known === text ? [] : [`${reference} stands for two different bodies`]
  })
}

function stepsBack(history: readonly Operation[], positionOf: (operation: Operation) => number): string[] {
  const seen = new Map<number, number>()
  return history
    .toSorted((a, b) => a.begin - b.begin)
    .flatMap((operation) => {
      const before = seen.get(operation.client) ?? -1
      const now = positionOf(operation)
      seen.set(operation.client, Math.max(before, now))
      return now < before ? [`client ${operation.client} went back from change ${before} to ${now}`] : []
    })
}
