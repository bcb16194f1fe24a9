/** Where in memory things are; below is what the compiler puts there. The module has no heap: nothing is allocated. */

/** How the values of each column are written or read, a byte each: a table has at most 1,600 columns. */
export const FORMS: usize = 0x10000

/** What is read: more than a block of lines has. Some bytes behind it are read, too, and mean nothing: sixteen are taken at a time. */
export const INPUT: usize = 0x20000
export const INPUT_BYTES: usize = 0x1a0000

/** What is written, more than six times as much, and some bytes behind it that are written over. */
export const OUTPUT: usize = 0x200000
export const OUTPUT_END: usize = 0xd00000
