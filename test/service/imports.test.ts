import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { describe, expect, test } from 'vitest'
import { IMPORT_ORDER } from '../support/imports/import-order.ts'
import { findCircles, findWrongDirections, type Imports, readImports } from '../support/imports/imports.ts'

const WHARF = withoutGenerated(readImports(process.cwd()))

test('imports of src/ run in the order of its parts', () => {
  expect(findWrongDirections(WHARF, IMPORT_ORDER)).toEqual([])
})

test('no files import each other in a circle, not even types', () => {
  expect(findCircles(WHARF)).toEqual([])
})

test('each part that the order names is there', () => {
  const files = [...WHARF.keys()]
  const missing = IMPORT_ORDER.flat().filter(
    (part) => !files.some((file) => file === `src/${part}` || file.startsWith(`src/${part}/`)),
  )
  expect(missing).toEqual([])
})

/** Prisma's client imports itself in circles. */
function withoutGenerated(imports: Imports): Imports {
  return new Map([...imports].filter(([file]) => !file.startsWith('src/database/generated/')))
}

describe('in a project with wrong imports', () => {
  const order = [['low'], ['left', 'right/inner'], ['right']]

  test.each([
    ['for its types', "import type { A } from '../right/a.ts'"],
    ['for one type', "import { type A } from '../right/a.ts'"],
    ['as a type in place', "export type B = import('../right/a.ts').A"],
    ['to re-export it', "export * from '../right/a.ts'"],
    ['to re-export its types', "export type { A } from '../right/a.ts'"],
    ['for what it does', "import '../right/a.ts'"],
    ['when it runs', "export const a = () => import('../right/a.ts')"],
  ])('an import from a part below %s is found', (_, line) => {
    const imports = readProject({ 'src/low/b.ts': line, 'src/right/a.ts': 'export type A = 1' })
    expect(findWrongDirections(imports, order)).toEqual(['src/low/b.ts must not import src/right/a.ts'])
  })

  test('an import from a part beside is found', () => {
    const imports = readProject({ 'src/left/a.ts': "import '../right/inner/b.ts'", 'src/right/inner/b.ts': '' })
    expect(findWrongDirections(imports, order)).toEqual(['src/left/a.ts must not import src/right/inner/b.ts'])
  })

  test('an import from the folder around a part is found, and one the other way is not', () => {
    const imports = readProject({
      'src/right/a.ts': "import './inner/b.ts'",
      'src/right/inner/b.ts': "import '../c.ts'",
      'src/right/c.ts': '',
    })
    expect(findWrongDirections(imports, order)).toEqual(['src/right/inner/b.ts must not import src/right/c.ts'])
  })

  test('a file that is in no part is found', () => {
    const imports = readProject({ 'src/new/a.ts': '' })
    expect(findWrongDirections(imports, order)).toEqual(['src/new/a.ts is in no part of the order'])
  })

  test('a circle of types is found', () => {
    const imports = readProject({
      'src/low/a.ts': "import type { B } from './b.ts'; export type A = B",
      'src/low/b.ts': "export type { C as B } from './c.ts'",
      'src/low/c.ts': "export type C = import('./a.ts').A",
    })
    expect(findCircles(imports)).toEqual(['src/low/a.ts → src/low/b.ts → src/low/c.ts → src/low/a.ts'])
  })
})

/** Reads a project of these files. */
function readProject(files: Record<string, string>): Imports {
  const tsconfig = { 'tsconfig.json': '{ "compilerOptions": { "module": "nodenext", "noLib": true, "types": [] } }' }
  const atRoot = Object.entries({ ...tsconfig, ...files }).map(([path, text]) => [`/made-up/${path}`, text])
  return readImports('/made-up', createVirtualFileSystem(Object.fromEntries(atRoot)))
}
