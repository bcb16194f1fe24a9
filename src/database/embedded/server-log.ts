import { copyFile, open } from 'node:fs/promises'

/** A log that has grown beyond this is begun anew; what it held is kept beside it until the next time. */
const MAX_LOG_BYTES = 10 * 1024 * 1024

const MAX_TAIL_BYTES = 4 * 1024

/** The file that the server writes its log to: a pipe would end with us, and block or kill a server left behind. */
export interface ServerLog {
  /** File descriptor for the server's standard output and error. */
  readonly fd: number
  /** The last lines that were written since the log was opened. */
  tail(): Promise<string>
  /** Begins the log anew where it has grown beyond its bound; the server goes on writing to it. */
  trim(): Promise<void>
  /** Closes our own descriptor; the server keeps its. */
  close(): Promise<void>
}

/** Opens, or makes, the log file. Mode 600: after a crash PostgreSQL logs the statement that was running. */
export async function openServerLog(path: string): Promise<ServerLog> {
  const handle = await open(path, 'a+', 0o600)
  const trim = async (): Promise<number> => {
    const { size } = await handle.stat()
    if (size <= MAX_LOG_BYTES) return size
    await copyFile(path, `${path}.1`)
    // The server appends, so what it writes next comes first.
    await handle.truncate()
    return 0
  }
  let startBytes = await trim()
  return {
    fd: handle.fd,
    async tail() {
      const { size: endBytes } = await handle.stat()
      const from = Math.max(startBytes, endBytes - MAX_TAIL_BYTES)
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_TAIL_BYTES), 0, MAX_TAIL_BYTES, from)
      return buffer.toString('utf8', 0, bytesRead).trim()
    },
    async trim() {
      if ((await trim()) === 0) startBytes = 0
    },
    close: () => handle.close(),
  }
}
