/** Whether more than `limit` objects and lists of a value are one inside the other. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  // Not by recursion: a tree may be deeper than the stack.
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}
