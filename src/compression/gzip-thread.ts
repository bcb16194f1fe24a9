import { Worker } from 'node:worker_threads'
import { compileOptimised } from '../lib/runtime.ts'
import { MODULE } from './generated/module.ts'

/** What goes to a thread and comes back: memory that belongs to either, so that neither copies it. */
interface Task {
  /** With the block at its beginning. */
  readonly block: ArrayBuffer
  readonly blockBytes: number
  /** Where the member is to be, and then is, at its beginning. */
  readonly member: ArrayBuffer
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

/** A thread that compresses one block after another to members of gzip, with what `assembly` has. */
export class GzipThread {
  readonly #worker: Worker
  #pending: Pending | undefined

  /** @param onEnd is called when it can't be used any more. @throws {Error} where the system has no thread for it. */
  constructor(onEnd: () => void) {
    compiled ??= compileOptimised(Buffer.from(MODULE, 'base64'))
    this.#worker = new Worker(THREAD, {
      eval: true,
      execArgv: [],
      workerData: compiled,
      resourceLimits: { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 },
    })
    this.#worker.on(
      'message',
      ({ block, blockBytes, member, memberBytes }: Task & { readonly memberBytes: number }) => {
        this.#take()?.resolve({ block: Buffer.from(block, 0, blockBytes), member: Buffer.from(member, 0, memberBytes) })
      },
    )
    const end = (error: Error): void => {
      onEnd()
      this.#take()?.reject(error)
    }
    this.#worker.on('error', (cause) => end(new Error('a thread that compresses has failed', { cause })))
    this.#worker.on('exit', () => end(new Error('a thread that compresses has ended')))
    // It keeps no program from ending that waits for nothing of it.
    this.#worker.unref()
  }

  /**
   * @param block at most `BLOCK_BYTES`. @param memory has `MAX_MEMBER_BYTES`. Both are the only ones in their memory, and can't be
   *   used any more.
   */
  compress(block: Buffer, memory: Buffer): Promise<Compressed> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#worker.ref()
      const task = { block: block.buffer, blockBytes: block.length, member: memory.buffer } as Task
      this.#worker.postMessage(task, [task.block, task.member])
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
 * As text, so that it runs alike from `src/` and from `dist/`. A member (RFC 1952, section 2.3) is without a time or a name, from
 * the fastest algorithm, and of Unix.
 */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { crc32 } = require('node:zlib')
  const { exports } = new WebAssembly.Instance(workerData)
  const [input, output] = [exports.INPUT.value, exports.OUTPUT.value]
  const memory = new Uint8Array(exports.memory.buffer)
  const header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3]
  parentPort.on('message', ({ block, blockBytes, member }) => {
    if (blockBytes > exports.INPUT_BYTES.value) throw new RangeError('a block of ' + blockBytes + ' bytes is too large')
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
