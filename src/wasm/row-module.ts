import { compileOptimised } from '../lib/runtime.ts'
import { MODULE } from './generated/module.ts'

/** What moves rows between their forms, as the exports of `assembly/index.ts` say. */
interface RowModule {
  /** All of its memory, which stays where it is. */
  readonly memory: Buffer
  readonly writeRows: (length: number, columns: number) => number
  readonly rows: WebAssembly.Global
  readonly range: WebAssembly.Global
  readonly written: WebAssembly.Global
  /** Where in memory things are, and how many bytes they may have. */
  readonly forms: number
  readonly input: number
  readonly inputBytes: number
  readonly output: number
}

let made: RowModule | undefined

/** The module of this thread, made when it is first used. What a call leaves in its memory is to be copied before the next call. */
export function rowModule(): RowModule {
  made ??= makeModule()
  return made
}

function makeModule(): RowModule {
  const { exports } = new WebAssembly.Instance(compileOptimised(Buffer.from(MODULE, 'base64')))
  const { memory, writeRows, rows, range, written } = exports as unknown as RowModule & {
    readonly memory: WebAssembly.Memory
  }
  const address = (name: string): number => (exports[name] as WebAssembly.Global).value
  return {
    ...{ memory: Buffer.from(memory.buffer), writeRows, rows, range, written },
    ...{ forms: address('FORMS'), input: address('INPUT'), output: address('OUTPUT') },
    inputBytes: address('INPUT_BYTES'),
  }
}
