import { describeMissing, type Stated } from '../contract/completeness.ts'
import type { CommandContext } from './environment.ts'
import { printable } from './terminal/printable.ts'
import { print } from './terminal/write.ts'

/** What is missing, as lines of text: the same before and after it is copied. @param subject what lacks it. */
export const missingLines = (subject: string, stated: Stated): readonly string[] =>
  describeMissing(subject, stated).flatMap(({ sentence, things }) => [
    `warning: ${sentence}${things.length === 0 ? '' : ':'}`,
    ...things.map((thing) => `  ${printable(thing)}`),
  ])

/** Names what is missing, where there is such a thing. @param subject what lacks it, e.g. `the archive`. */
export async function warnOfMissing(
  { environment: { stderr } }: CommandContext,
  subject: string,
  stated: Stated,
): Promise<void> {
  const lines = missingLines(subject, stated)
  if (lines.length > 0) await print(stderr, lines.join('\n'))
}
