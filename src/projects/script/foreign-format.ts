const PLAIN = 'a script is plain SQL, as pg_dump writes it without --format'

/** What files begin with that are given for a script by mistake, and what to do then. */
const FORMATS: readonly { readonly bytes: Buffer; readonly message: string }[] = [
  {
    bytes: Buffer.from('PGDMP'),
    message: `this is a dump in pg_dump's custom format: ${PLAIN}, or pg_restore --file=- makes of this one`,
  },
  {
    bytes: Buffer.from('toc.dat\0'),
    message: `this is a dump in pg_dump's tar format: ${PLAIN}, or pg_restore --file=- makes of this one`,
  },
  { bytes: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), message: `this is compressed with zstd: unpack it first (zstd -dc)` },
  { bytes: Buffer.from([0x04, 0x22, 0x4d, 0x18]), message: `this is compressed with lz4: unpack it first (lz4 -dc)` },
  { bytes: Buffer.from('BZh'), message: `this is compressed with bzip2: unpack it first (bunzip2 -c)` },
  {
    bytes: Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a]),
    message: `this is compressed with xz: unpack it first (xz -dc)`,
  },
  { bytes: Buffer.from('PK\x03\x04'), message: `this is a zip file: unpack it first (unzip -p)` },
  { bytes: Buffer.from('SQLite format 3\0'), message: `this is a database of SQLite: ${PLAIN}` },
  {
    bytes: Buffer.from([0xff, 0xfe]),
    message: 'this is UTF-16, as ">" of PowerShell writes it: let pg_dump write the file itself (--file)',
  },
  {
    bytes: Buffer.from([0xfe, 0xff]),
    message: 'this is UTF-16: let pg_dump write the file itself (--file)',
  },
]

/** How many bytes it takes to recognise each of them. */
export const LONGEST_BEGINNING = Math.max(...FORMATS.map(({ bytes }) => bytes.length))

/** Whether a file begins as something else than SQL. @returns what it is, and what to do; undefined for anything else. */
export const foreignFormat = (beginning: Buffer): string | undefined =>
  FORMATS.find(({ bytes }) => beginning.subarray(0, bytes.length).equals(bytes))?.message
