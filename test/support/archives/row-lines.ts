/** Rows as lines of an archive. @param rows each an array of values. */
export const rowLines = (rows: readonly (readonly unknown[])[]): Buffer =>
  Buffer.from(rows.map((row) => `{"row":${JSON.stringify(row)}}\n`).join(''))
