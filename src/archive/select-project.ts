import { notFound } from '../errors.ts'
import { lineBlocks, NEWLINE } from '../lib/line-blocks.ts'
import { encodeLine } from './archive-writer.ts'
import { unpack } from './unpack.ts'

/** A longer line is passed on, or passed over, piece by piece: those that are looked into are all shorter. */
const HELD_BYTES = 64 * 1024

/** The kinds of lines that are looked into. */
const BEGINNING = /^[ \t\uFEFF]*\{[ \t]*"(project|projectEnd|stageEnd|end)"[ \t]*:/

/** Of most lines, three bytes tell that they are none of those. */
const [BRACE, QUOTE, LETTER_R] = [0x7b, 0x22, 0x72]

/** Enough of a line to know its kind. */
const BEGINNING_BYTES = 64

/**
 * One project of an archive, as an archive of its own. Nothing of it is checked but what has to be read to find it: who
 * reads the result checks that, and learns of no line of the other projects whether it was right.
 *
 * @param bytes compressed or not, cut into chunks anywhere.
 * @param slug as it stands in the archive.
 * @yields plain bytes.
 * @throws {AppError} NOT_FOUND where the archive ends without that project; ARCHIVE_INVALID as `unpack`; what `bytes` throws.
 */
export async function* selectProject(
  bytes: AsyncIterable<Buffer>,
  slug: string,
): AsyncGenerator<Buffer, void, undefined> {
  const selection = new Selection(slug)
  for await (const block of lineBlocks(unpack(bytes), () => ({ maxBytes: HELD_BYTES, inPieces: true }))) {
    yield* selection.take(block)
  }
}

/** What of an archive is wanted. @param slug of one project; undefined for all of it, as it is. */
export const selectFrom = (bytes: AsyncIterable<Buffer>, slug: string | undefined): AsyncIterable<Buffer> =>
  slug === undefined ? bytes : selectProject(bytes, slug)

class Selection {
  readonly #slug: string
  /** Where the next line stands: around the projects, in the one that is wanted, or in another. */
  #position: 'around' | 'wanted' | 'other' = 'around'
  #isFound = false
  #rows = 0
  /** Whether the line before has not ended. */
  #isInLine = false

  constructor(slug: string) {
    this.#slug = slug
  }

  /** @param block whole lines, or a piece of one. @yields what of it is of the project. */
  *take(block: Buffer): Generator<Buffer, void, undefined> {
    let kept = 0
    let start = 0
    if (this.#isInLine) start = this.#endOf(block, 0)
    while (start < block.length) {
      const end = this.#endOf(block, start)
      const line = block.subarray(start, end)
      const kind = kindOf(line)
      if (kind !== undefined) {
        if (this.#position !== 'other' && kept < start) yield block.subarray(kept, start)
        const own = this.#enter(kind, line)
        if (own) yield own
        kept = end
      }
      start = end
    }
    if (this.#position !== 'other' && kept < block.length) yield block.subarray(kept)
  }

  #endOf(block: Buffer, start: number): number {
    const newline = block.indexOf(NEWLINE, start)
    this.#isInLine = newline < 0
    return newline < 0 ? block.length : newline + 1
  }

  /** @returns what is to stand there in the archive of this project alone; undefined for nothing. */
  #enter(kind: string, line: Buffer): Buffer | undefined {
    const content = contentOf(line, kind)
    switch (kind) {
      case 'project':
        this.#position = content.slug === this.#slug ? 'wanted' : 'other'
        if (this.#position === 'other') return undefined
        this.#isFound = true
        return line
      case 'projectEnd': {
        const isWanted = this.#position === 'wanted'
        this.#position = 'around'
        return isWanted ? line : undefined
      }
      case 'end':
        if (!this.#isFound) throw notFound('project of the archive', this.#slug)
        return encodeLine('end', { projects: 1, rows: this.#rows })
      default:
        if (this.#position === 'other') return undefined
        if (typeof content.rows === 'number') this.#rows += content.rows
        return line
    }
  }
}

function kindOf(line: Buffer): string | undefined {
  if (line[0] === BRACE && line[1] === QUOTE && line[2] === LETTER_R) return undefined
  return BEGINNING.exec(line.toString('utf8', 0, BEGINNING_BYTES))?.[1]
}

/** What stands in a line; nothing where it is not right, which who reads it says. */
function contentOf(line: Buffer, kind: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line.toString('utf8'))[kind] ?? {}
  } catch {
    return {}
  }
}
