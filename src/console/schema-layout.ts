import type { TableOverview } from './types.ts'
import { inNaturalOrder } from './words.tsx'

/** A table in the picture, in pixels. */
export interface Box {
  readonly name: string
  readonly x: number
  readonly y: number
}

/** A foreign key, from the table that has it. */
export interface Edge {
  readonly key: string
  readonly from: Box
  readonly to: Box
}

export interface Layout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly Box[]
  readonly edges: readonly Edge[]
}

export const BOX = { width: 190, height: 30 } as const
/** Between columns, and between rows. */
export const GAP = { x: 90, y: 14 } as const

/**
 * Where tables stand, so that each is right of those that it refers to, as far as they do not refer to each other. Tables that
 * have nothing to do with others come last, in rows below.
 */
export function layOut(tables: readonly TableOverview[]): Layout {
  const names = new Set(tables.map(({ name }) => name))
  const referred = new Map(
    tables.map(({ name, relations }) => [
      name,
      relations.filter((each) => each.kind === 'to one' && names.has(each.table)).map((each) => each.table),
    ]),
  )
  const linked = new Set([...referred].flatMap(([name, others]) => (others.length > 0 ? [name, ...others] : [])))
  const columns: string[][] = []
  for (const [name, depth] of depthsOf(referred)) {
    if (linked.has(name)) columns[depth] = [...(columns[depth] ?? []), name]
  }
  const placed = new Map<string, Box>()
  for (const [column, own] of columns.entries()) {
    for (const [row, name] of inOrder(own ?? [], referred, placed).entries()) {
      placed.set(name, { name, x: column * (BOX.width + GAP.x), y: row * (BOX.height + GAP.y) })
    }
  }
  const below = heightOf(placed)
  const perRow = Math.max(3, columns.length)
  const alone = tables.map(({ name }) => name).filter((name) => !linked.has(name))
  for (const [index, name] of alone.entries()) {
    const y = below + Math.floor(index / perRow) * (BOX.height + GAP.y)
    placed.set(name, { name, x: (index % perRow) * (BOX.width + GAP.x), y })
  }
  const boxes = [...placed.values()]
  return {
    width: Math.max(0, ...boxes.map(({ x }) => x + BOX.width)),
    height: Math.max(0, heightOf(placed) - GAP.y),
    boxes,
    edges: tables.flatMap(({ name, relations }) =>
      relations.flatMap((relation) => {
        const [from, to] = [placed.get(name), placed.get(relation.table)]
        return relation.kind === 'to one' && from && to ? [{ key: `${name} ${relation.name}`, from, to }] : []
      }),
    ),
  }
}

const heightOf = (placed: ReadonlyMap<string, Box>): number =>
  Math.max(0, ...[...placed.values()].map(({ y }) => y + BOX.height + GAP.y))

/** How many tables one leads through at most, by foreign keys; a circle counts where it was entered. */
function depthsOf(referred: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const depths = new Map<string, number>()
  for (const start of referred.keys()) {
    // A stack of its own: a chain of tables may be longer than calls can be deep.
    const path = [start]
    const entered = new Set<string>()
    while (path.length > 0) {
      const name = path.at(-1) ?? ''
      const others = (referred.get(name) ?? []).filter((other) => other !== name)
      const unknown = entered.has(name) ? [] : others.filter((other) => !depths.has(other) && !entered.has(other))
      entered.add(name)
      if (unknown.length > 0) {
        path.push(...unknown)
        continue
      }
      path.pop()
      if (!depths.has(name)) depths.set(name, 1 + Math.max(-1, ...others.map((other) => depths.get(other) ?? -1)))
    }
  }
  return depths
}

/** By where those stand that each refers to, so that few lines cross. */
function inOrder(
  names: readonly string[],
  referred: ReadonlyMap<string, readonly string[]>,
  placed: ReadonlyMap<string, Box>,
): readonly string[] {
  const middle = (name: string): number => {
    const rows = (referred.get(name) ?? []).flatMap((other) => placed.get(other)?.y ?? [])
    return rows.length === 0 ? 0 : rows.reduce((sum, y) => sum + y, 0) / rows.length
  }
  return names.toSorted((a, b) => middle(a) - middle(b) || inNaturalOrder(a, b))
}
