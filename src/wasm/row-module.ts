import { numberText } from '../lib/number-text.ts'
import { compileOptimised } from '../lib/runtime.ts'
import { MODULE } from './generated/module.ts'

/** What moves rows between their forms, as `assembly` has it. */
interface RowModule {
  /** All of its memory, which stays where it is. */
  readonly memory: Buffer
  readonly writeRows: (length: number, columns: number) => number
  readonly rows: WebAssembly.Global
  readonly range: WebAssembly.Global
  readonly written: WebAssembly.Global
  readonly readRows: (length: number, columns: number, isBinary: number, maxLineBytes: number) => number
  readonly rowsRead: WebAssembly.Global
  readonly bytesWritten: WebAssembly.Global
  readonly isFull: WebAssembly.Global
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
  let memory: Buffer
  const numberAt = (start: number, end: number): number => Number(memory.toString('latin1', start, end))
  const imports = {
    'read-numbers': {
      toNumber: numberAt,
      rewriteNumber: (start: number, end: number, target: number): number =>
        memory.write(numberText(numberAt(start, end)), target, 'latin1'),
    },
  }
  const { exports } = new WebAssembly.Instance(compileOptimised(Buffer.from(MODULE, 'base64')), imports)
  memory = Buffer.from((exports.memory as WebAssembly.Memory).buffer)
  const address = (name: string): number => (exports[name] as WebAssembly.Global).value
  return {
    ...(exports as unknown as Omit<RowModule, 'memory'>),
    ...{ memory, forms: address('FORMS'), input: address('INPUT'), output: address('OUTPUT') },
    inputBytes: address('INPUT_BYTES'),
  }
}
