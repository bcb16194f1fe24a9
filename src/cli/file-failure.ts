import { AppError } from '../errors.ts'
import { errorCode } from '../lib/error-code.ts'

type Sentence = (file: string) => string

const UNREADABLE: Sentence = (file) =>
  `${file} may not be read by this user: get read permission for it, and for the folders above it`
const UNWRITABLE: Sentence = (file) =>
  `${file} may not be written by this user: choose another place, or get write permission in its folder`
const IN_CIRCLES: Sentence = (file) => `${file} is a symbolic link that leads back to itself`
const LONG_NAME: Sentence = (file) => `${file} has a longer name than files can have here`

/** Failures that another name, or other rights, would have avoided. */
const WRONG_USE: Readonly<Record<'read' | 'write', Readonly<Record<string, Sentence>>>> = {
  read: {
    ENOENT: (file) => `there is no file ${file}`,
    ENOTDIR: (file) => `there is no file ${file}`,
    EISDIR: (file) => `${file} is a folder; expected a file`,
    EACCES: UNREADABLE,
    EPERM: UNREADABLE,
    ELOOP: IN_CIRCLES,
    ENAMETOOLONG: LONG_NAME,
  },
  write: {
    ENOENT: (file) => `there is no folder for ${file}`,
    ENOTDIR: (file) => `there is no folder for ${file}`,
    // Node's own code, for removing what turns out to be a folder.
    ERR_FS_EISDIR: (file) => `${file} is a folder, which is in the way: remove it, or choose another file`,
    EISDIR: (file) => `${file} is a folder; expected the name of a file`,
    EACCES: UNWRITABLE,
    EPERM: UNWRITABLE,
    EROFS: (file) => `${file} cannot be written, the file system there is read-only: choose another place`,
    ELOOP: IN_CIRCLES,
    ENAMETOOLONG: LONG_NAME,
  },
}

/** Failures that have nothing to do with what was asked for. */
const FAILED: Readonly<Record<string, Sentence>> = {
  ENOSPC: (file) => `${file} could not be written to its end, no space is left: free some, or choose another place`,
  EDQUOT: (file) => `${file} could not be written to its end, this user's quota is used up: choose another place`,
  EFBIG: (file) => `${file} could not be written to its end, no file may be larger here: raise "ulimit -f"`,
  EIO: (file) => `${file} could not be read or written, its disk reports an error: check the disk`,
  EMFILE: (file) => `${file} could not be opened, this process has too many open files: raise "ulimit -n"`,
  ENFILE: (file) => `${file} could not be opened, this machine has too many open files: close some`,
}

/**
 * Says in words what the operating system refused to do with a file.
 *
 * @param file its name, for the sentence.
 * @returns WRONG_USE where the file is not one that this can be done with, FILE_FAILED where something happened to it,
 *   and `error` itself where it is not about a file.
 */
export function toFileFailure(error: unknown, file: string, purpose: 'read' | 'write'): unknown {
  const code = errorCode(error)
  if (code === undefined) return error
  const wrong = WRONG_USE[purpose][code]
  if (wrong) return new AppError('WRONG_USE', wrong(file), { cause: error })
  const failed = FAILED[code]
  return failed ? new AppError('FILE_FAILED', failed(file), { cause: error }) : error
}

/** For `catch`: throws what `toFileFailure` makes of an error. */
export const throwFileFailure =
  (...about: [file: string, purpose: 'read' | 'write']) =>
  (error: unknown): never => {
    throw toFileFailure(error, ...about)
  }
