import { readFile, writeFile } from 'node:fs/promises'

/** The most memory that a process has had, in bytes; only Linux tells. @see proc_pid_status(5): VmHWM. */
export async function peakMemory(pid: number): Promise<number> {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}

/** What a process has in memory now, in bytes; only Linux tells. @see proc_pid_status(5): VmRSS. */
export async function memory(pid: number): Promise<number> {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}

/** Lets the peak count from now on. @see proc(5): clear_refs. */
export const forgetPeakMemory = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5')
