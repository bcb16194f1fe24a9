import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { PROBLEMS, problemType } from '../../src/api/problem.ts'

const documentation = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')

/** Where codes are only listed. */
const LISTS = new Set(['problem.ts'])

async function readSource(): Promise<string> {
  const folder = new URL('../../src/', import.meta.url)
  const names = await readdir(folder, { recursive: true })
  const files = names.filter((name) => name.endsWith('.ts') && !LISTS.has(name.split('/').at(-1) ?? ''))
  return (await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')))).join('\n')
}

const source = await readSource()

test.each(Object.entries(PROBLEMS))('%s is documented with its status, and made somewhere', (code, { status }) => {
  expect(documentation).toContain(`| \`${code}\` | ${status} |`)
  const isMade = new RegExp(`new AppError\\(\\s*'${code}'|super\\('${code}'|code: '${code}'`).test(source)
  expect(isMade).toBe(true)
})

test('no two codes have the same type', () => {
  const codes = Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]
  expect(new Set(codes.map(problemType)).size).toBe(codes.length)
})
