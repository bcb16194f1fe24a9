import { expect, test } from 'vitest'
import { parseExpiry } from '../../src/cli/expiry.ts'
import { parsePermissions } from '../../src/cli/permission-list.ts'
import { printable } from '../../src/cli/terminal/printable.ts'
import { fileProgressLine, progressLine } from '../../src/cli/terminal/progress.ts'
import { formatTable } from '../../src/cli/terminal/table.ts'
import { formatBytes, formatCounted, formatSeconds } from '../../src/lib/units.ts'

const NOW = new Date('2026-11-20T12:00:00Z')

test.each([
  ['90m', '2026-11-20T13:30:00.000Z'],
  ['12h', '2026-11-21T00:00:00.000Z'],
  ['30d', '2026-12-20T12:00:00.000Z'],
  ['4w', '2026-12-18T12:00:00.000Z'],
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2027-01-31T12:30Z', '2027-01-31T12:30:00.000Z'],
  ['2027-01-31T12:30:15.250+02:00', '2027-01-31T10:30:15.250Z'],
])('--expires %s is %s', (text, moment) => {
  expect(parseExpiry(text, NOW).toISOString()).toBe(moment)
})

test.each([
  '',
  'soon',
  '30',
  '30 d',
  '30y',
  '-1d',
  '1.5d',
  '99999999999999d',
  '2027-02-29',
  '2027-06-31',
  '2027-13-01',
  '2027-01-31T12:30',
  '2027-01-31T25:00Z',
  '31.1.2027',
  'NaN',
])('--expires "%s" is not understood', (text) => {
  expect(() => parseExpiry(text, NOW)).toThrow(/is not understood: expected a duration like/)
})

test.each(['0d', '2026-11-20', '2026-11-20T12:00:00Z', '2020-01-01'])('--expires %s has passed', (text) => {
  expect(() => parseExpiry(text, NOW)).toThrow('has passed already')
})

test('a permission that is not named is not given', () => {
  expect(parsePermissions({ content: 'read, export', system: '' })).toEqual({
    content: { read: true, write: false, export: true, import: false, structure: false },
    system: { export: false, import: false },
  })
})

test.each([
  [
    { content: 'read,delete', system: '' },
    '--content knows no permission "delete": expected some of read,write,export,import,structure',
  ],
  [{ content: '', system: 'read' }, '--system knows no permission "read": expected some of export,import'],
])('an unknown permission in %o is refused', (lists, message) => {
  expect(() => parsePermissions(lists)).toThrow(message)
})

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [12_345, '12.3 kB'],
  [152_243, '152 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [3.5e9, '3.5 GB'],
  [2e16, '20000 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

test.each([
  [0.84, '0.8 s'],
  [59.9, '59.9 s'],
  [185, '3:05'],
  [3723.4, '1:02:03'],
])('%d seconds are %s', (seconds, text) => {
  expect(formatSeconds(seconds)).toBe(text)
})

test('counts read as English', () => {
  expect([0, 1, 15_607].map((count) => formatCounted(count, 'row'))).toEqual(['0 rows', '1 row', '15,607 rows'])
})

test.each([
  [{ table: '', rows: 0, bytes: 0, rowsExpected: undefined }, 0, '0 rows  0 B  0 B/s'],
  [{ table: 'album', rows: 500, bytes: 2e6, rowsExpected: undefined }, 4, 'album  500 rows  2.0 MB  500 kB/s'],
  [
    { table: 'album', rows: 500, bytes: 2e6, rowsExpected: 2000 },
    4,
    'album  500 rows  2.0 MB  500 kB/s  25 %  12.0 s left',
  ],
  [
    { table: 'album', rows: 3000, bytes: 2e6, rowsExpected: 2000 },
    99,
    'album  3,000 rows  2.0 MB  20.2 kB/s  99 %  1.0 s left',
  ],
  [{ table: 'album', rows: 0, bytes: 0, rowsExpected: 2000 }, 1, 'album  0 rows  0 B  0 B/s  0 %'],
])('%o after %d s shows as "%s"', (progress, seconds, line) => {
  expect(progressLine(progress, seconds)).toBe(line)
})

test.each([
  [{ bytes: 0, bytesTotal: 4e6, waitingFor: undefined }, 0, '0 B of 4.0 MB  0 B/s  0 %'],
  [{ bytes: 1e6, bytesTotal: 4e6, waitingFor: undefined }, 4, '1.0 MB of 4.0 MB  250 kB/s  25 %  12.0 s left'],
  [{ bytes: 1e6, bytesTotal: undefined, waitingFor: undefined }, 4, '1.0 MB  250 kB/s'],
  [{ bytes: 4e6, bytesTotal: 4e6, waitingFor: 'loading' }, 75, 'loading…  4.0 MB  1:15'],
])('%o after %d s shows as "%s"', (progress, seconds, line) => {
  expect(fileProgressLine(progress, seconds)).toBe(line)
})

test('what a terminal would obey is not printed', () => {
  expect(printable('a\u001b[31mb\r\nc\u0007\u202ed')).toBe(String.raw`a\u001b[31mb c\u0007\u202ed`)
})

test('a table is aligned, and plain without colours', () => {
  const table = formatTable(
    ['name', 'for'],
    [
      ['a', 'x'],
      ['längerer', 'y\u001b'],
    ],
    { colors: false },
  )
  expect(table).toBe('name      for\na         x\nlängerer  y\\u001b')
})
