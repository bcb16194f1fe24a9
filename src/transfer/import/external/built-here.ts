import { conflict } from '../../../errors.ts'
import type { TargetStage } from '../target-stage.ts'

/**
 * Whether the stages of an import are built in their own schemas, in one transaction, rather than beside them: they are empty, so
 * nobody reads them, and what they get would not do elsewhere. What comes with a range type cannot be moved, and what a
 * body of a function names with its schema is not found as long as it is in another one.
 */
export const areBuiltHere = (stages: readonly TargetStage[]): boolean =>
  stages.every(({ mode, isOwn }) => mode === 'build' && !isOwn) &&
  (stages.some(hasFixedTypes) || (stages.every(isCalledTheSame) && stages.some((stage) => namesAny(stage, stages))))

/** @throws {AppError} CONFLICT where one stage would have to be built so, and another cannot be. */
export function assertOneWay(stages: readonly TargetStage[]): void {
  const fixed = stages.find(hasFixedTypes)
  if (!fixed || areBuiltHere(stages)) return
  throw conflict(
    `nothing was changed: stage "${fixed.stage.slug}" has range types, which cannot be moved, and so cannot become ` +
      'visible at one moment with others that are not empty; import it by itself',
  )
}

/** What has to be there for others comes before them, as far as bodies of functions say. */
export function inOrderOfNames(stages: readonly TargetStage[]): readonly TargetStage[] {
  const ordered: TargetStage[] = []
  for (let left = stages; left.length > 0; left = left.filter((stage) => !ordered.includes(stage))) {
    const needsNoOther = (stage: TargetStage): boolean =>
      !namesAny(
        stage,
        left.filter((other) => other !== stage),
      )
    // Those that name each other come as they are.
    ordered.push(...[left.find(needsNoOther) ?? left[0]].flatMap((stage) => stage ?? []))
  }
  return ordered
}

const hasFixedTypes = ({ mode, exchanged, structure }: TargetStage): boolean =>
  mode === 'build' && exchanged === 'objects' && structure.inOrder.some(({ kind }) => kind === 'range')

const isCalledTheSame = ({ archived, stage }: TargetStage): boolean => archived.sourceSchema === stage.schemaName

/** Whether a function of the stage has the name of one of these schemas in its text, be it only in a comment. */
function namesAny({ structure }: TargetStage, others: readonly TargetStage[]): boolean {
  if (others.length === 0) return false
  const names = others.map(({ stage }) => literally(stage.schemaName)).join('|')
  const named = new RegExp(`(?<!${WORD})(?:${names})(?!${WORD})`, 'iu')
  return structure.inOrder.some(({ kind, content }) => kind === 'function' && named.test(content.definition))
}

/** What a name goes on with. */
const WORD = '[\\p{L}\\p{N}_$]'

const literally = (name: string): string =>
  Array.from(name, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('')
