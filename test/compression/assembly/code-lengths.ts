export { findCodeLengths } from '../../../src/compression/assembly/code-lengths'
export { CODE_LENGTHS, LITERAL_COUNTS } from '../../../src/compression/assembly/memory'
