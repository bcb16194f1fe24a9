export { FORMS, FORMS_BYTES, INPUT, INPUT_BYTES, OUTPUT, OUTPUT_BYTES } from './memory'
export { range, rows, writeRows, written } from './write-lines'
