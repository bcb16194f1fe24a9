/** Where in memory things are; below is what the compiler puts there. The module has no heap: nothing is allocated. */

/** Where bytes were last seen that have the same hash: the lower 16 bits of their position, two bytes for each hash. */
export const LAST_SEEN: usize = 0x10000
export const HASH_BITS: u64 = 15

/** The tokens of a block, four bytes each. */
export const TOKENS: usize = 0x20000
export const MAX_TOKENS: usize = 0x8000

/** How often a block has each symbol, four bytes each: literals and lengths, then distances. */
export const LITERAL_COUNTS: usize = 0x41000
export const DISTANCE_COUNTS: usize = 0x41800
export const COUNTS_END: usize = 0x42000

/** How long the code of each symbol is, a byte each. */
export const CODE_LENGTHS: usize = 0x42000
/** The codes themselves, four bytes each, as `code-table.ts` has them. */
export const LITERAL_CODES: usize = 0x43000
export const DISTANCE_CODES: usize = 0x43800

/** For each length of a match, eight bytes each: its symbol and its extra bits, see `symbols.ts`. */
export const LENGTH_SYMBOLS: usize = 0x44000
/** For each length of a match, eight bytes each: the code of its symbol with its extra bits, see `write-block.ts`. */
export const LENGTH_CODES: usize = 0x45000

/** What builds a code: `code-lengths.ts`. */
export const LEAVES: usize = 0x46000
export const LEAF_PARENTS: usize = 0x47000
export const NODES: usize = 0x48000
export const NODE_PARENTS: usize = 0x49000
/** How many codes there are of each length, and which is the next of each, four bytes each. */
export const LENGTH_COUNTS: usize = 0x4a000
export const NEXT_CODES: usize = 0x4a100

/** How the lengths of a block's codes are written: `write-codes.ts`. */
export const RUNS: usize = 0x4b000
export const RUN_COUNTS: usize = 0x4c000
export const RUN_CODE_LENGTHS: usize = 0x4c100
export const RUN_CODES: usize = 0x4c200

/**
 * What is compressed. Up to eight bytes behind it are read, too, and change nothing.
 *
 * A multiple of 64 KiB: what `LAST_SEEN` has where nothing was seen, zero, stands for such a position, too, and none before the input.
 */
export const INPUT: usize = 0x50000
const INPUT_BYTES: usize = 0x100000

/** What comes of it, at most an eighth more. Up to eight bytes behind it are written over. */
export const OUTPUT: usize = INPUT + INPUT_BYTES + 0x10000
