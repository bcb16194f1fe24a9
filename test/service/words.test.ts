import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'

/*
 * Words that would mean something in this code that they mean nowhere else.
 */

/** Not in names, as a part of one: `seamOf` and `the-seam.ts` have the part `seam`. */
const NOT_IN_NAMES = ['complaint', 'gate', 'gated', 'seam']

/** Nor in comments, messages and documentation. */
const NOT_IN_SENTENCES = ['gated', 'seam', 'whoever']

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

/** The parts of a name: `readHTTPHead` has `read`, `http` and `head`. */
const partsOf = (name: string): readonly string[] =>
  (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((part) => part.toLowerCase())

const isOneOf = (words: readonly string[], part: string): boolean =>
  words.includes(part) || (part.endsWith('s') && words.includes(part.slice(0, -1)))

function wordsInNames(code: string, words: readonly string[]): readonly Found[] {
  return [...code.matchAll(TOKENS)].flatMap(({ index, groups }) =>
    partsOf(groups?.name ?? '')
      .filter((part) => isOneOf(words, part))
      .map((word) => ({ word, index })),
  )
}

function wordsInSentences(text: string, words: readonly string[]): readonly Found[] {
  const pattern = new RegExp(`\\b(?:${words.join('|')})s?\\b`, 'gi')
  return [...text.matchAll(pattern)].map(({ 0: word, index }) => ({ word, index }))
}

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
    const inFileName = partsOf(basename(path)).filter((part) => isOneOf(NOT_IN_NAMES, part))
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
  ['readSeams(file)', ['seams']],
  ['const SEAM_LIMIT = 1', ['seam']],
  ['seamless(file)', []],
  ['// the seam', []],
  ["print('seam', `seam`)", []],
])('the parts of the names in %s that are on the list: %j', (text, expected) => {
  expect(wordsInNames(text, ['seam']).map(({ word }) => word)).toEqual(expected)
})
