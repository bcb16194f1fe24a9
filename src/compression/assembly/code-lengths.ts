import { LEAF_PARENTS, LEAVES, LENGTH_COUNTS, NODE_PARENTS, NODES } from './memory'

/** An entry of `LEAVES` is how often a symbol comes, shifted by so many bits, and the symbol. */
const SYMBOL_BITS: u32 = 9
const SYMBOL: u32 = (1 << SYMBOL_BITS) - 1

function at(list: usize, index: i32): usize {
  return list + ((<usize>index) << 2)
}

/**
 * Finds how long each symbol's code is, so that all of them together take the fewest bits (Huffman); codes that are longer than
 * `longest` are then shortened.
 *
 * @param counts how often each symbol comes, below 2^23; four bytes each.
 * @param symbols how many there are, at most 512.
 * @param lengths where the lengths of their codes are put, a byte each; 0 for a symbol that never comes.
 * @param longest how many bits a code has at most.
 */
export function findCodeLengths(counts: usize, symbols: i32, lengths: usize, longest: i32): void {
  memory.fill(lengths, 0, symbols)
  const leaves = sortLeaves(counts, symbols)
  if (leaves < 2) {
    // A code of one symbol has one bit all the same, and a second one makes it a complete code, which every reader takes.
    const only: u32 = leaves === 0 ? 0 : load<u32>(LEAVES) & SYMBOL
    store<u8>(lengths + only, 1)
    store<u8>(lengths + (only === 0 ? 1 : 0), 1)
    return
  }
  joinNodes(leaves)
  countLengths(leaves, longest)
  shorten(longest)
  // Those that come the least often have the longest.
  let leaf = 0
  for (let length = longest; length > 0; length--) {
    for (let left = load<u32>(at(LENGTH_COUNTS, length)); left > 0; left--) {
      store<u8>(lengths + (load<u32>(at(LEAVES, leaf++)) & SYMBOL), <u8>length)
    }
  }
}

/** Lists symbols that come, the rarest first. @returns how many. */
function sortLeaves(counts: usize, symbols: i32): i32 {
  let leaves = 0
  for (let symbol = 0; symbol < symbols; symbol++) {
    const times = load<u32>(at(counts, symbol))
    if (times > 0) store<u32>(at(LEAVES, leaves++), (times << SYMBOL_BITS) | symbol)
  }
  // Shell's sort.
  for (let gap = leaves >> 1; gap > 0; gap >>= 1) {
    for (let index = gap; index < leaves; index++) {
      const leaf = load<u32>(at(LEAVES, index))
      let slot = index
      for (; slot >= gap && load<u32>(at(LEAVES, slot - gap)) > leaf; slot -= gap) {
        store<u32>(at(LEAVES, slot), load<u32>(at(LEAVES, slot - gap)))
      }
      store<u32>(at(LEAVES, slot), leaf)
    }
  }
  return leaves
}

/** Joins the two rarest leaves or nodes, until one node is left. Nodes are made in the order of their sums, so both lists are sorted. */
function joinNodes(leaves: i32): void {
  let leaf = 0
  let joined = 0
  for (let node = 0; node < leaves - 1; node++) {
    let sum: u32 = 0
    for (let child = 0; child < 2; child++) {
      const rarestLeaf: u32 = leaf < leaves ? load<u32>(at(LEAVES, leaf)) >> SYMBOL_BITS : u32.MAX_VALUE
      const rarestNode: u32 = joined < node ? load<u32>(at(NODES, joined)) : u32.MAX_VALUE
      if (rarestLeaf <= rarestNode) {
        store<u32>(at(LEAF_PARENTS, leaf++), node)
        sum += rarestLeaf
      } else {
        store<u32>(at(NODE_PARENTS, joined++), node)
        sum += rarestNode
      }
    }
    store<u32>(at(NODES, node), sum)
  }
}

/** Counts codes by their length, which is how many nodes are above a leaf; those that are too long count as the longest. */
function countLengths(leaves: i32, longest: i32): void {
  const root = leaves - 2
  store<u32>(at(NODES, root), 0)
  for (let node = root - 1; node >= 0; node--) {
    store<u32>(at(NODES, node), load<u32>(at(NODES, load<u32>(at(NODE_PARENTS, node)))) + 1)
  }
  memory.fill(LENGTH_COUNTS, 0, (longest + 1) << 2)
  for (let leaf = 0; leaf < leaves; leaf++) {
    const length = min<i32>(load<u32>(at(NODES, load<u32>(at(LEAF_PARENTS, leaf)))) + 1, longest)
    store<u32>(at(LENGTH_COUNTS, length), load<u32>(at(LENGTH_COUNTS, length)) + 1)
  }
}

/**
 * Codes that were cut to `longest` take too much room: each step makes one shorter code a bit longer, and puts one of the longest
 * beside it.
 */
function shorten(longest: i32): void {
  /** In units of the longest codes: how many there could be of these. */
  let used: i32 = 0
  for (let length = 1; length <= longest; length++) used += load<u32>(at(LENGTH_COUNTS, length)) << (longest - length)
  for (; used > 1 << longest; used--) {
    let length = longest - 1
    while (load<u32>(at(LENGTH_COUNTS, length)) === 0) length--
    change(length, -1)
    change(length + 1, 2)
    change(longest, -1)
  }
}

function change(length: i32, by: i32): void {
  store<u32>(at(LENGTH_COUNTS, length), load<u32>(at(LENGTH_COUNTS, length)) + by)
}
