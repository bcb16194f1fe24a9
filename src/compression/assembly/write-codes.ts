import { putBits } from './bits'
import { findCodeLengths } from './code-lengths'
import { makeCodes } from './code-table'
import { RUN_CODE_LENGTHS, RUN_CODES, RUN_COUNTS, RUNS } from './memory'

/*
 * How a block says which codes it has: the lengths of all, literals and distances in one list, in a code of their own, in which
 * several that are the same can be one symbol (RFC 1951, section 3.2.7).
 */

const REPEAT_LAST: u32 = 16
const FEW_ZEROS: u32 = 17
const MANY_ZEROS: u32 = 18
const RUN_SYMBOLS: i32 = 19
const LONGEST_RUN_CODE: i32 = 7

/** In which order the lengths of that code are written: those that are often zero come last. */
const ORDER: usize = memory.data<u8>([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15])

/** Where the last run ends; each has its symbol and, a byte behind, its extra bits. */
let runsEnd: usize = RUNS
let written: i32 = 0

/** Prepares what `writeCodes` writes. @param lengths a byte each. @returns how many bits it takes. */
export function measureCodes(lengths: usize, symbols: i32): u32 {
  runsEnd = RUNS
  memory.fill(RUN_COUNTS, 0, RUN_SYMBOLS << 2)
  for (let symbol = 0; symbol < symbols; ) {
    const length: u32 = load<u8>(lengths + symbol)
    let same = 1
    while (symbol + same < symbols && load<u8>(lengths + symbol + same) === length) same++
    symbol += same
    listRuns(length, same)
  }
  findCodeLengths(RUN_COUNTS, RUN_SYMBOLS, RUN_CODE_LENGTHS, LONGEST_RUN_CODE)
  makeCodes(RUN_CODE_LENGTHS, RUN_SYMBOLS, RUN_CODES)
  written = RUN_SYMBOLS
  while (written > 4 && load<u8>(RUN_CODE_LENGTHS + load<u8>(ORDER + written - 1)) === 0) written--
  let taken: u32 = 4 + 3 * written
  for (let symbol: u32 = 0; symbol < <u32>RUN_SYMBOLS; symbol++) {
    taken += load<u32>(RUN_COUNTS + (symbol << 2)) * (load<u8>(RUN_CODE_LENGTHS + symbol) + extraBits(symbol))
  }
  return taken
}

function listRuns(length: u32, same: i32): void {
  if (length === 0) {
    while (same >= 11) {
      const zeros = min<i32>(same, 138)
      listRun(MANY_ZEROS, zeros - 11)
      same -= zeros
    }
    if (same >= 3) {
      listRun(FEW_ZEROS, same - 3)
      same = 0
    }
  } else {
    listRun(length, 0)
    same--
    while (same >= 3) {
      const repeated = min<i32>(same, 6)
      listRun(REPEAT_LAST, repeated - 3)
      same -= repeated
    }
  }
  for (; same > 0; same--) listRun(length, 0)
}

function listRun(symbol: u32, extra: u32): void {
  store<u8>(runsEnd, <u8>symbol)
  store<u8>(runsEnd, <u8>extra, 1)
  runsEnd += 2
  const counted = RUN_COUNTS + (symbol << 2)
  store<u32>(counted, load<u32>(counted) + 1)
}

function extraBits(symbol: u32): u32 {
  if (symbol === REPEAT_LAST) return 2
  if (symbol === FEW_ZEROS) return 3
  return symbol === MANY_ZEROS ? 7 : 0
}

/** Writes what was measured last. */
export function writeCodes(): void {
  putBits(written - 4, 4)
  for (let index = 0; index < written; index++) putBits(load<u8>(RUN_CODE_LENGTHS + load<u8>(ORDER + index)), 3)
  for (let run = RUNS; run < runsEnd; run += 2) {
    const symbol: u32 = load<u8>(run)
    const code = load<u32>(RUN_CODES + (symbol << 2))
    putBits(code & 0xffff, code >> 16)
    putBits(load<u8>(run, 1), extraBits(symbol))
  }
}
