import { isObjectLine, isSecondStep, isTableEntry, isTypeLine, type OrderedLine } from './lines.ts'
import { createFirst, createObject } from './objects/objects.ts'
import { generateColumns, tableStatements } from './table-families.ts'
import { completeType, createType } from './types.ts'

/** The statements that lines stand for, each in its place. */
export interface LineStatements {
  /** What a line makes; of what has a second step, the first one. */
  of(line: OrderedLine): readonly string[]
  /** What a type is given later that was made before the first table: it may call functions that come after it. */
  completing(line: OrderedLine): readonly string[]
  /** The first step of a view where no line says when it gets its second one: earlier versions wrote none. */
  firstOf(line: OrderedLine): readonly string[]
}

/** @param early the lines before the first table. */
export function lineStatements(inOrder: readonly OrderedLine[], early: readonly OrderedLine[]): LineStatements {
  const secondSteps = new Map(
    inOrder.filter(isSecondStep).map(({ content }) => [keyOf(content.object, content), content]),
  )
  const divided = new Map(
    inOrder.flatMap((line) => {
      const key = keyOf(line.kind, line.content)
      return secondSteps.has(key) ? [[key, line] as const] : []
    }),
  )
  const isDivided = (line: OrderedLine): boolean => divided.has(keyOf(line.kind, line.content))
  const tables = tableStatements(inOrder.filter(isTableEntry), ({ name }) => secondSteps.get(keyOf('table', { name })))
  const completedLater = new Set(early.filter((line) => isTypeLine(line) && !isDivided(line)))

  const secondStep = (line: OrderedLine | undefined): readonly string[] => {
    if (line === undefined) return []
    if (isObjectLine(line)) return createObject(line)
    if (isTypeLine(line)) return completeType(line)
    const { columns = [] } = secondSteps.get(keyOf('table', line.content)) ?? {}
    return isTableEntry(line) ? generateColumns(line.content, new Set(columns)) : []
  }
  return {
    of(line) {
      if (isTableEntry(line)) return tables.get(line.content) ?? []
      if (isSecondStep(line)) return secondStep(divided.get(keyOf(line.content.object, line.content)))
      if (isObjectLine(line)) return isDivided(line) ? createFirst(line) : createObject(line)
      const completed = isDivided(line) || completedLater.has(line) ? [] : completeType(line)
      return [createType(line), ...completed]
    },
    completing: (line) => (isTypeLine(line) && completedLater.has(line) ? completeType(line) : []),
    firstOf: (line) => (isObjectLine(line) && !isDivided(line) ? createFirst(line) : []),
  }
}

const keyOf = (kind: string, { name }: { readonly name: string }): string => JSON.stringify([kind, name])
