import { readFileIfThere } from '../lib/read-file-if-there.ts'

/** Of `/proc/net/tcp`: TCP_LISTEN in include/net/tcp_states.h. */
const LISTEN = '0A'

/**
 * The users whose processes listen on a TCP port of this machine, by their ids. A data folder that was copied here has
 * its secret with it, and the maker of the copy knows it: so it matters whose the server is, too.
 *
 * @returns undefined where the system does not say: elsewhere than on Linux.
 * @see proc_pid_net(5)
 */
export async function listenerOwners(port: number): Promise<ReadonlySet<number> | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFileIfThere(path)))
  if (tables.every((table) => table === undefined)) return undefined
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const owners = tables.flatMap((table) =>
    (table ?? '').split('\n').flatMap((line) => {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/)
      return state === LISTEN && local.endsWith(suffix) ? [Number(uid)] : []
    }),
  )
  return new Set(owners)
}

/**
 * Finds a user, root too, who is not ourselves: what root listens for may be a container's published port, behind which
 * anybody can be.
 *
 * @param owners ids of users.
 */
export const foreignOwnerAmong = (owners: ReadonlySet<number>, self: number): number | undefined =>
  [...owners].find((uid) => uid !== self)
