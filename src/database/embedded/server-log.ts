import { open } from 'node:fs/promises'

/** A log that has grown beyond this is replaced at the next start. */
const MAX_LOG_BYTES = 10 * 1024 * 1024

const MAX_TAIL_BYTES = 4 * 1024

/** The file that the server writes its log to: a pipe would end with us, and block or kill a server left behind. */
export interface ServerLog {
  /** File descriptor for the server's standard output and error. */
  readonly fd: number
  /** The last lines that were written since the log was opened. */
  tail(): Promise<string>
  /** Closes our own descriptor; the server keeps its. */
  close(): Promise<void>
}

/** Opens, or makes, the log file. Mode 600: after a crash PostgreSQL logs the statement that was running. */
export async function openServerLog(path: string): Promise<ServerLog> {
  const handle = await open(path, 'a+', 0o600)
  const { size } = await handle.stat()
  if (size > MAX_LOG_BYTES) await handle.truncate()
  const startBytes = size > MAX_LOG_BYTES ? 0 : size
  return {
    fd: handle.fd,
    async tail() {
      const { size: endBytes } = await handle.stat()
      const from = Math.max(startBytes, endBytes - MAX_TAIL_BYTES)
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_TAIL_BYTES), 0, MAX_TAIL_BYTES, from)
      return buffer.toString('utf8', 0, bytesRead).trim()
    },
    close: () => handle.close(),
  }
}
