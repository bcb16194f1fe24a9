/** `nobody`, on every Linux. */
const NOBODY = 65_534

const isRoot = process.geteuid?.() === 0

/** For a process of its own, whose real user counts as well. */
export const ORDINARY_USER = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** Runs `work` as a user who is not root: root may do what permissions forbid to everybody else. */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return work()
  process.seteuid?.(NOBODY)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
