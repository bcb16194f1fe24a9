import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

/*
 * Words that would mean something in this code that they mean nowhere else.
 */

/** Not in names, as parts of one: `seamOf` and `the-seam.ts` have the part `seam`. */
const NOT_IN_NAMES = [
  ...['complaint', 'finding', 'findings', 'gate', 'gated', 'hold', 'holder', 'holders', 'knock', 'ledger', 'mark row'],
  ...[
    'malformation',
    'obstacle',
    'obstacles',
    'query marks',
    'refusal',
    'refusals',
    'remark',
    'ring',
    'rings',
    'rounds',
  ],
  ...[
    'seam',
    'seams',
    'seen mark',
    'settled read',
    'side schema',
    'side schemas',
    'sparing',
    'stage mark',
    'stage marks',
  ],
  ...['stranger', 'strangers', 'tell', 'tells', 'trouble', 'troubles', 'visit', 'visits'],
]

/** Nor in comments, messages and documentation. */
const NOT_IN_SENTENCES = [
  ...['gated', 'knock', 'ledger', 'ledgers', 'malformation', 'obstacle', 'obstacles', 'seam', 'seams', 'settled read'],
  ...['settled reads', 'stage mark', 'stage marks', 'stranger', 'strangers', 'whoever'],
]

const CODE = ['src', 'test', 'chaos', 'bench']
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

/** Comments, texts, and names: where nothing else matches first, it is a name. */
const TOKENS =
  /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<name>[A-Za-z_$][\w$]*)/g

interface Found {
  readonly word: string
  /** Where it stands in the text. */
  readonly index: number
}

const patternOf = (words: readonly string[]): RegExp => new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi')

/** The parts of a name as words: `readHTTPHead` is `read http head`. */
const wordsOf = (name: string): string => (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).join(' ').toLowerCase()

const wordsInNames = (code: string, words: readonly string[]): readonly Found[] =>
  [...code.matchAll(TOKENS)].flatMap(({ index, groups }) =>
    (wordsOf(groups?.name ?? '').match(patternOf(words)) ?? []).map((word) => ({ word, index })),
  )

const wordsInSentences = (text: string, words: readonly string[]): readonly Found[] =>
  [...text.matchAll(patternOf(words))].map(({ 0: word, index }) => ({ word, index }))

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length

async function filesOf(folder: string, ending: RegExp): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => ending.test(name) && !name.includes('generated')).map((name) => join(folder, name))
}

const code = (await Promise.all(CODE.map((folder) => filesOf(folder, /\.(ts|mjs)$/)))).flat()
const files = [...code, ...(await filesOf('docs', /\.md$/)), ...DOCUMENTS].filter(
  (path) => join(process.cwd(), path) !== import.meta.filename,
)

test('names are made of words that everybody knows', async () => {
  const found: string[] = []
  for (const path of code) {
    const text = await readFile(path, 'utf8')
    const inFileName = wordsOf(basename(path)).match(patternOf(NOT_IN_NAMES)) ?? []
    found.push(...inFileName.map((word) => `${path}: ${word}`))
    for (const { word, index } of files.includes(path) ? wordsInNames(text, NOT_IN_NAMES) : []) {
      found.push(`${path}:${lineOf(text, index)}: ${word}`)
    }
  }
  expect(found).toEqual([])
})

test('sentences are made of words that everybody knows', async () => {
  const found: string[] = []
  for (const path of files) {
    const text = await readFile(path, 'utf8')
    for (const { word, index } of wordsInSentences(text, NOT_IN_SENTENCES)) {
      found.push(`${path}:${lineOf(text, index)}: ${word}`)
    }
  }
  expect(found).toEqual([])
})

test.each([
  ['const seam = 1', ['seam']],
  ['readSeamOf(file)', ['seam']],
  ['lastSettledReads', []],
  ['lastSettledRead', ['settled read']],
  ['const SEAM_LIMIT = 1', ['seam']],
  ['seamless(file)', []],
  ['// the seam', []],
  ["print('seam', `seam`)", []],
])('the parts of the names in %s that are on the list: %j', (text, expected) => {
  expect(wordsInNames(text, ['seam', 'settled read']).map(({ word }) => word)).toEqual(expected)
})
