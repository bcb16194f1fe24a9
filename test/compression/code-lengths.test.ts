import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileModule, DEFLATE } from '../../scripts/wasm-module.ts'

interface CodeLengths {
  readonly memory: WebAssembly.Memory
  readonly LITERAL_COUNTS: WebAssembly.Global
  readonly CODE_LENGTHS: WebAssembly.Global
  readonly findCodeLengths: (counts: number, symbols: number, lengths: number, longest: number) => void
}

const SYMBOLS = 286
const module = new WebAssembly.Module(await compileModule('test/compression/assembly/code-lengths.ts', DEFLATE.pages))
const code = new WebAssembly.Instance(module).exports as unknown as CodeLengths

const lengthsOf = (counts: readonly number[], longest: number): number[] => {
  new Uint32Array(code.memory.buffer, code.LITERAL_COUNTS.value, counts.length).set(counts)
  code.findCodeLengths(code.LITERAL_COUNTS.value, counts.length, code.CODE_LENGTHS.value, longest)
  return [...new Uint8Array(code.memory.buffer, code.CODE_LENGTHS.value, counts.length)]
}

/** How many bits Huffman's code takes: the sum of all nodes. */
function fewestBits(counts: readonly number[]): number {
  const nodes = counts.filter((times) => times > 0)
  let bits = 0
  while (nodes.length > 1) {
    nodes.sort((left, right) => right - left)
    const sum = (nodes.pop() ?? 0) + (nodes.pop() ?? 0)
    nodes.push(sum)
    bits += sum
  }
  return bits
}

const bitsOf = (counts: readonly number[], lengths: readonly number[]): number =>
  counts.reduce((bits, times, symbol) => bits + times * (lengths[symbol] ?? 0), 0)

/** 1 where every sequence of bits is read as some symbols, and none in two ways. */
const kraftSum = (lengths: readonly number[]): number =>
  lengths.reduce((sum, length) => sum + (length > 0 ? 2 ** -length : 0), 0)

/** Symbols that come as often as Fibonacci's numbers have codes each a bit longer than the next. */
const fibonacci = (symbols: number): number[] => {
  const numbers = [1, 1]
  while (numbers.length < symbols) numbers.push((numbers.at(-1) ?? 0) + (numbers.at(-2) ?? 0))
  return numbers
}

test.each([
  { longest: 15, symbols: SYMBOLS },
  { longest: 15, symbols: 30 },
  { longest: 7, symbols: 19 },
])(
  'codes of $symbols symbols are complete, of $longest bits at most, and of the fewest bits where none was cut',
  (limits) => {
    const { longest, symbols } = limits
    const few = fc.nat({ max: 3 })
    const skewed = fc.nat({ max: 20 }).map((power) => 2 ** power)
    const times = fc.oneof(fc.constant(0), few, skewed, fc.nat({ max: 32_768 }))
    fc.assert(
      fc.property(fc.array(times, { minLength: symbols, maxLength: symbols }), (counts) => {
        fc.pre(counts.filter((count) => count > 0).length > 1)
        const lengths = lengthsOf(counts, longest)
        expect(lengths.map((length) => length > 0)).toEqual(counts.map((count) => count > 0))
        expect(Math.max(...lengths)).toBeLessThanOrEqual(longest)
        expect(kraftSum(lengths)).toBe(1)
        if (Math.max(...lengths) < longest) expect(bitsOf(counts, lengths)).toBe(fewestBits(counts))
      }),
      { numRuns: 400 },
    )
  },
)

test.each([7, 15])('codes that would be longer than %i bits are cut, and stay complete', (longest) => {
  for (let symbols = longest + 2; symbols <= 30; symbols += 1) {
    const counts = fibonacci(symbols)
    const lengths = lengthsOf(counts, longest)
    expect(Math.max(...lengths)).toBe(longest)
    expect(kraftSum(lengths)).toBe(1)
    expect(bitsOf(counts, lengths)).toBeGreaterThan(fewestBits(counts))
  }
})

test('one symbol alone, or none, has a code that is complete all the same', () => {
  for (const counts of [
    [0, 0, 0],
    [5, 0, 0],
    [0, 0, 5],
  ])
    expect(kraftSum(lengthsOf(counts, 15))).toBe(1)
})
