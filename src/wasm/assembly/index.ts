export { FORMS, INPUT, INPUT_BYTES, OUTPUT } from './memory'
export { bytesWritten, isFull, readRows, rowsRead } from './read-rows'
export { range, rows, writeRows, written } from './write-lines'
