import { dirname, join, relative } from 'node:path'
import { isStringLiteralLikeNode } from 'typescript/unstable/ast/is'
import type { FileSystem } from 'typescript/unstable/fs'
import { API } from 'typescript/unstable/sync'

/** By the path of each file, the paths of the files that it imports: for their types, to re-export or at run time. */
export type Imports = ReadonlyMap<string, readonly string[]>

/**
 * Reads the imports between the files of a TypeScript project with TypeScript's own parser.
 *
 * @param folder holds the project's tsconfig.json; paths are relative to it.
 * @param fs where its files are, unless on the disk.
 */
export function readImports(folder: string, fs?: FileSystem): Imports {
  const typescript = new API({ cwd: folder, ...(fs && { fs }) })
  try {
    const project = typescript.updateSnapshot({ openProjects: [join(folder, 'tsconfig.json')] }).getProjects()[0]
    if (!project) throw new Error(`no TypeScript project in ${folder}`)
    const imports = new Map<string, readonly string[]>()
    for (const file of project.rootFiles) {
      const paths = (project.program.getSourceFile(file)?.imports ?? [])
        .flatMap((node) => (isStringLiteralLikeNode(node) ? [node.text] : []))
        .filter((name) => name.startsWith('.'))
        .map((name) => relative(folder, join(dirname(file), name)))
      imports.set(relative(folder, file), paths)
    }
    return imports
  } finally {
    typescript.close()
  }
}

/** @returns a line for each import of a file in `src` that the order does not allow, and for each file out of it. */
export function findWrongDirections(imports: Imports, order: readonly (readonly string[])[]): string[] {
  return [...imports].flatMap(([file, imported]) => {
    if (!file.startsWith('src/')) return []
    const part = partOf(file, order)
    if (!part) return [`${file} is in no part of the order`]
    return imported.flatMap((path) => {
      const other = partOf(path, order)
      if (other && (other.name === part.name || other.line < part.line)) return []
      return [`${file} must not import ${path}`]
    })
  })
}

/** The part of src/ that a file is in: the innermost that the order names. */
function partOf(file: string, order: readonly (readonly string[])[]) {
  return order
    .flatMap((names, line) => names.map((name) => ({ name, line })))
    .filter(({ name }) => file === `src/${name}` || file.startsWith(`src/${name}/`))
    .sort((a, b) => b.name.length - a.name.length)[0]
}

/** @returns files that import each other in a circle, e.g. `a.ts → b.ts → a.ts`; none if there are no circles. */
export function findCircles(imports: Imports): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const follow = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (path.includes(file) || done.has(file)) return
    for (const imported of imports.get(file) ?? []) follow(imported, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) follow(file, [])
  return circles
}
