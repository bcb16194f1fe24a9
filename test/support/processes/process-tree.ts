import { readdir, readFile } from 'node:fs/promises'

/** Lets a process and its children do nothing, until what is returned is called. */
export async function freezeTree(parent: number): Promise<() => void> {
  // First it, so that no process is added; the others afterwards.
  signalIfThere(parent, 'SIGSTOP')
  const pids = [...(await childrenOf(parent)), parent]
  for (const pid of pids) signalIfThere(pid, 'SIGSTOP')
  return () => {
    for (const pid of pids) signalIfThere(pid, 'SIGCONT')
  }
}

/** @see proc_pid_stat(5): the fourth field is the parent. */
async function childrenOf(parent: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => Number(/^\d+ \(.*\) \S (\d+)/s.exec(stats[index] ?? '')?.[1]) === parent)
}

export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
