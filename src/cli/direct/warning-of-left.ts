import { quoteIdentifier } from '../../database/quoting.ts'
import type { CommandContext } from '../environment.ts'
import { printable } from '../terminal/printable.ts'
import { print } from '../terminal/write.ts'

/**
 * Runs an import, and says behind it, however it ends, which schemas it has left in the database, and how they go.
 *
 * @param use gets what is to be called with each of them.
 */
export async function warningOfLeft<T>(
  { environment }: CommandContext,
  use: (onLeft: (schema: string, problem: string) => void) => Promise<T>,
): Promise<T> {
  const left: string[] = []
  const onLeft = (schema: string, problem: string): void => {
    left.push(
      `warning: the schema ${schema}, into which this import has loaded, is still in the database: ${problem}; the next import ` +
        `there tries to drop it, or drop it yourself: DROP SCHEMA ${quoteIdentifier(schema)} CASCADE`,
    )
  }
  try {
    return await use(onLeft)
  } finally {
    for (const line of left) await print(environment.stderr, printable(line))
  }
}
