import { readdir, readFile } from 'node:fs/promises'

/** In seconds since a process began. */
export interface ProcessorTime {
  readonly all: number
  /** Of the thread that answers requests. */
  readonly mainThread: number
}

/** Linux counts in hundredths of a second, on all machines that it runs on. @see proc_pid_stat(5). */
const TICKS_PER_SECOND = 100

/** How much processor time a process has taken; only Linux tells. */
export async function processorTime(pid: number): Promise<ProcessorTime> {
  const threads = await readdir(`/proc/${pid}/task`)
  const times = await Promise.all(threads.map(async (id) => [id, await readTime(`/proc/${pid}/task/${id}`)] as const))
  return {
    all: (await readTime(`/proc/${pid}`)).own,
    mainThread: times.find(([id]) => id === String(pid))?.[1].own ?? 0,
  }
}

/**
 * How much processor time a process has taken, with those that it has started, alive or not. One that ends while it is looked for is
 * neither alive nor ended then: it is looked again until none has.
 */
export async function processorTimeOfAll(pid: number): Promise<number> {
  for (;;) {
    const { ended } = await readTime(`/proc/${pid}`)
    const others = await Promise.all(
      (await readdir('/proc'))
        .filter((name) => /^\d+$/.test(name))
        .map((name) => readTime(`/proc/${name}`).catch(() => undefined)),
    )
    const after = await readTime(`/proc/${pid}`)
    if (after.ended !== ended) continue
    return others.reduce((sum, time) => sum + (time?.parent === pid ? time.own : 0), after.own + ended)
  }
}

/** What those have taken, in seconds, that this process has started, and that have ended. */
export const endedChildren = async (): Promise<number> => (await readTime('/proc/self')).ended

/** How long all processors of the machine, together, have done something, in seconds since it started. */
export async function busyTime(): Promise<number> {
  const [, ...fields] = ((await readFile('/proc/stat', 'utf8')).split('\n')[0] ?? '').trim().split(/\s+/)
  // User, nice, system, then idle and waiting for disks, then interrupts of two kinds.
  const [user = 0, nice = 0, system = 0, , , hard = 0, soft = 0] = fields.map(Number)
  return (user + nice + system + hard + soft) / TICKS_PER_SECOND
}

async function readTime(
  folder: string,
): Promise<{ readonly own: number; readonly ended: number; readonly parent: number }> {
  const text = await readFile(`${folder}/stat`, 'utf8')
  // Behind the name, which may have anything in it; the third field is the first then.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const field = (number: number): number => fields[number - 3] ?? Number.NaN
  return {
    own: (field(14) + field(15)) / TICKS_PER_SECOND,
    ended: (field(16) + field(17)) / TICKS_PER_SECOND,
    parent: field(4),
  }
}
