/** Encodings of what is no UTF-8, no character, too long, cut off, or of what means something elsewhere. */
const CURIOUS: readonly string[] = [
  ...['%', '%0', '%zz', '%%', '%2', '%u0000', '%U+0000', 'a%', '%25%3', '%2500', '%252e', '+', '%2B'],
  // Overlong, of surrogates (also as a pair), beyond Unicode, cut off, and continuations of nothing.
  ...['%c0%80', '%c0%af', '%e0%80%80', '%e0%80%af', '%f0%80%80%80', '%f8%88%80%80%80', '%fe%ff', '%ff%fe'],
  ...['%ed%a0%80', '%ed%bf%bf', '%ed%a0%80%ed%b0%80', '%f4%90%80%80', '%80%80', '%bf', 'a%80', '%c3', '%c3a'],
  ...['%e2%82', '%e2%82a', '%f0%9f%98', '%f0%9f', '%c3%28'],
  ...['%00%00%00', 'live%00', '%00live', '%EF%BF%BE', '%EF%BF%BD', '%e2%80%ae', '%ef%bb%bf', '%f0%9f%98%80'],
  ...['%2e%2e%2f', '%2F..%2F', '..', '.', '%2e', '%5c..%5c', '%3f', '%23', '%26a%3d1', '%3b', '%0d%0aa:%20b'],
  ...["'%3B--", '"', '"%22', '{}', '(', ')', '()', '((', ',', ',,', '.', '..eq', '*', '->', '%2d>>', '::', ':', '!'],
  ...['__proto__', 'constructor', 'toString', 'null', 'NaN', '1e400', '-1', '99999999999999999999', '0x10', '1_0'],
  ...['a'.repeat(64), 'x'.repeat(4_000), '%f0%9f%98%80'.repeat(200), '('.repeat(1_000)],
]

const byte = (code: number): string => `%${code.toString(16).padStart(2, '0')}`
const BYTES: readonly number[] = Array.from({ length: 256 }, (_, code) => code)

/** Every byte, percent-encoded, and what else a path or a query can be broken with. */
export const ENCODED: readonly string[] = [...BYTES.map(byte), ...CURIOUS]

/** Every byte, as it is: text of Latin-1, to be sent as that. */
export const RAW: readonly string[] = BYTES.map((code) => String.fromCharCode(code))

/** For the value of a header: every byte alone and within what is right otherwise, and more. */
export const HEADER_VALUES: readonly string[] = [
  ...RAW,
  ...['\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80', '\xe2\x82', '\xff\xfe', '\xc3\xa4', 'a\x00b', '\x80\x80'],
  ...[',', ',,,;;;===', '"', '"a', '"a\\', 'W/', 'W/"', '*', '%00', '%', 'x'.repeat(4_000), ' ', '\t', 'a, b;c="'],
  ...['0-99999999999999999999999', '9-1', '-', 'bytes=-', 'bytes=9-1', 'bytes=0-0,2-3', 'items=9-1', 'bytes=\x80-'],
  ...['count=exact;count=planned,,,', 'return=\x80', 'handling=strict, \xff', 'wait=\x80', 'wait=-1', 'wait=1e9'],
  ...[
    '*/*;q=NaN',
    'text/csv;q=-1, */*;q=0',
    'application/json; charset=\x80',
    'application/json;',
    'gzip;q=',
    'gzip, gzip',
  ],
  ...['Bearer', 'Bearer ', 'Bearer \x80', 'Bearer \xff\xfe', 'Bearer a b', 'Basic Og==', `Bearer ${'x'.repeat(4_000)}`],
  ...['localhost:99999', '[::1', 'a:b:c', 'example.org/\xff', '@', 'http://x'],
]
