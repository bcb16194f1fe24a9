import { Worker } from 'node:worker_threads'
import { compileOptimised } from '../lib/runtime.ts'
import { BLOCK_BYTES } from './block-bytes.ts'
import { MODULE } from './generated/module.ts'

/** What goes to a thread: memory that belongs to either, so that neither copies it. */
interface Task {
  /** With the block at its beginning. */
  readonly block: ArrayBuffer
  readonly blockBytes: number
  /** Where the member is to be, and then is, at its beginning. */
  readonly member: ArrayBuffer
}

/** What comes back. */
interface Done extends Task {
  readonly memberBytes: number
}

/** A block as it was, and its member, in the memory that was given for it. */
export interface Compressed {
  readonly block: Buffer
  readonly member: Buffer
}

interface Pending {
  readonly resolve: (compressed: Compressed) => void
  readonly reject: (error: Error) => void
}

let compiled: WebAssembly.Module | undefined

/** A thread that compresses one block at a time to a member of gzip, with what `assembly` has. */
export class GzipThread {
  readonly #worker: Worker
  #pending: Pending | undefined

  /** @param onEnd is called when it can't be used any more, perhaps more than once. @throws {Error} where there is no thread. */
  constructor(onEnd: () => void) {
    compiled ??= compileOptimised(Buffer.from(MODULE, 'base64'))
    this.#worker = new Worker(THREAD, {
      eval: true,
      name: 'gzip',
      // What Node.js was started with, such as modules to load first, is nothing that it needs.
      execArgv: [],
      workerData: compiled,
      // It has hardly any objects of its own: more memory would be filled with what nobody needs any more.
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
    })
    this.#worker.on('message', ({ block, blockBytes, member, memberBytes }: Done) => {
      this.#take()?.resolve({ block: Buffer.from(block, 0, blockBytes), member: Buffer.from(member, 0, memberBytes) })
    })
    const end = (error: Error): void => {
      onEnd()
      this.#take()?.reject(error)
    }
    const fail = (cause: Error): void => end(new Error('a thread that compresses has failed', { cause }))
    this.#worker.on('error', fail)
    this.#worker.on('messageerror', fail)
    this.#worker.on('exit', () => end(new Error('a thread that compresses has ended')))
    // A thread without work does not keep the process running.
    this.#worker.unref()
  }

  /** As `BlockCompressor` has it; nothing else before the promise is settled. */
  async compress(block: Buffer, memory: Buffer): Promise<Compressed> {
    if (block.length > BLOCK_BYTES) throw new RangeError(`a block of ${block.length} bytes is too large`)
    if (block.byteOffset > 0 || memory.byteOffset > 0) throw new RangeError('a block begins its memory')
    const task = { block: block.buffer, blockBytes: block.length, member: memory.buffer } as Task
    this.#worker.postMessage(task, [task.block, task.member])
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
    })
  }

  #take(): Pending | undefined {
    const pending = this.#pending
    this.#pending = undefined
    this.#worker.unref()
    return pending
  }
}

/**
 * As text, so that it runs the same from `src/` and from `dist/`. A member's header (RFC 1952, section 2.3) has no time and no name, and
 * says that the algorithm is the fastest, and the system Unix.
 */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { crc32 } = require('node:zlib')
  const { exports } = new WebAssembly.Instance(workerData)
  const [input, output] = [exports.INPUT.value, exports.OUTPUT.value]
  const memory = new Uint8Array(exports.memory.buffer)
  const header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]
  parentPort.on('messageerror', (error) => {
    throw error
  })
  parentPort.on('message', ({ block, blockBytes, member }) => {
    const plain = new Uint8Array(block, 0, blockBytes)
    memory.set(plain, input)
    const end = header.length + exports.deflate(blockBytes)
    const bytes = new Uint8Array(member)
    bytes.set(header)
    bytes.set(memory.subarray(output, output + end - header.length), header.length)
    const trailer = new DataView(member, end)
    trailer.setUint32(0, crc32(plain), true)
    trailer.setUint32(4, blockBytes, true)
    parentPort.postMessage({ block, blockBytes, member, memberBytes: end + 8 }, [block, member])
  })
`
