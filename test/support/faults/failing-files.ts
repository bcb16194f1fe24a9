import fs from 'node:fs'
import files, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { sep } from 'node:path'
import { type CallCounter, createCallCounter, type FailPoint } from './fail-point.ts'

export interface FailingFiles extends FailPoint {
  /** Gives the file system back as it was. */
  restore(): void
}

type Call = (...given: unknown[]) => unknown

/**
 * Watches the calls that this process makes to the file system for what is in one folder, and for the files that it
 * opens there.
 *
 * @param code of the system, which failures have.
 */
export function watchFiles(folder: string, code: string): FailingFiles {
  const counter = createCallCounter()
  const isInside = (path: unknown): boolean => typeof path === 'string' && path.startsWith(`${folder}${sep}`)
  const failing =
    (name: string, call: Call): Call =>
    async (...given) => {
      const lost = counter.count()
      // A file is closed also where closing it fails, and one that could not be opened is not open.
      const isMade = lost === undefined || name === 'close' || (lost === 'answer' && name !== 'open')
      const result = isMade ? await call(...given) : undefined
      if (lost) throw faultOf(code, name)
      return name === 'open' ? watchFile(result as FileHandle, failing) : result
    }

  const originals = { files: { ...files }, createReadStream: fs.createReadStream }
  for (const [name, value] of Object.entries(originals.files)) {
    if (typeof value !== 'function') continue
    const call = value as Call
    const watched = failing(name, call)
    Object.assign(files, { [name]: (...given: unknown[]) => (isInside(given[0]) ? watched : call)(...given) })
  }
  fs.createReadStream = ((path: fs.PathLike, options: object) =>
    originals.createReadStream(
      path,
      isInside(path) ? { ...options, fs: callbackCalls(counter, code) } : options,
    )) as typeof fs.createReadStream
  syncBuiltinESMExports()

  return {
    ...counter,
    restore() {
      Object.assign(files, originals.files)
      fs.createReadStream = originals.createReadStream
      syncBuiltinESMExports()
    },
  }
}

const FILE_CALLS = ['appendFile', 'writeFile', 'write', 'read', 'readFile', 'sync', 'chmod', 'stat', 'close'] as const

function watchFile(handle: FileHandle, failing: (name: string, call: Call) => Call): FileHandle {
  for (const name of FILE_CALLS) {
    const call = handle[name].bind(handle) as Call
    Object.defineProperty(handle, name, { value: failing(name, call) })
  }
  return handle
}

/** What a stream that opens its own file needs. */
function callbackCalls(counter: CallCounter, code: string): object {
  const failing =
    (name: string, call: Call): Call =>
    (...given) => {
      const callback = given.at(-1) as Call
      const lost = counter.count()
      if (lost === undefined) return call(...given)
      const fail = (): unknown => callback(faultOf(code, name))
      return name === 'close' ? call(...given.slice(0, -1), fail) : process.nextTick(fail)
    }
  return {
    open: failing('open', fs.open as Call),
    read: failing('read', fs.read as Call),
    close: failing('close', fs.close as Call),
  }
}

/** As the system words it. */
const faultOf = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${code}: failed on purpose, ${syscall}`), { code, syscall })
