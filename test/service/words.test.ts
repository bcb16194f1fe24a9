import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

/*
 * Words that would mean something in this code that they mean nowhere else.
 */

/** Not in names, as parts of one: `seamOf` and `the-seam.ts` have the part `seam`. A `_` is a gap between two words. */
const NOT_IN_NAMES = `
  abandon(ed|ment|s)? complaints? findings? gated? hold holders? knock ledgers? malformations? mark_row obstacles?
  (?<!in_)place(less|s)? query_marks refusals? remark rings? rounds seams? seen_mark settled_read sides? sparing
  stage_marks? strangers? tells? told troubles? visits?
`

/** Nor in comments, messages and documentation. */
const NOT_IN_SENTENCES = `
  gated knock ledgers? malformations? obstacles? seams? settled_reads? stage_marks? strangers? whoever
`

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

const patternOf = (words: string): RegExp =>
  new RegExp(`\\b(?:${words.trim().split(/\s+/).join('|').replaceAll('_', ' ')})\\b`, 'gi')

/** The parts of a name as words: `readHTTPHead` is `read http head`. */
const wordsOf = (name: string): string => (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).join(' ').toLowerCase()

/** Of a list, its words in each name that was looked at: most names come again and again. */
const known = new Map<string, Map<string, readonly string[]>>()

function wordsInName(name: string, words: string): readonly string[] {
  const ofList = known.get(words) ?? new Map<string, readonly string[]>()
  known.set(words, ofList)
  const found = ofList.get(name) ?? wordsOf(name).match(patternOf(words)) ?? []
  ofList.set(name, found)
  return found
}

const wordsInNames = (code: string, words: string): readonly Found[] =>
  [...code.matchAll(TOKENS)].flatMap(({ index, groups }) =>
    wordsInName(groups?.name ?? '', words).map((word) => ({ word, index })),
  )

const wordsInSentences = (text: string, words: string): readonly Found[] =>
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
  ['inPlaceNotes', []],
  ['placeOf(file)', ['place']],
  ['seamless(file)', []],
  ['// the seam', []],
  ["print('seam', `seam`)", []],
])('the parts of the names in %s that are on the list: %j', (text, expected) => {
  expect(wordsInNames(text, 'seam settled_read (?<!in_)place').map(({ word }) => word)).toEqual(expected)
})
