import type { EventItem } from '../archive/archive-item.ts'
import { copyInto } from '../copy/copy-into.ts'
import { toArrayText } from '../copy/text-array.ts'
import { toCopyText } from '../copy/text-fields.ts'
import type { Database, Transaction } from '../database/database.ts'
import { nameSession } from '../database/session-name.ts'
import { BorrowedBytes, copied } from '../lib/borrowed-bytes.ts'
import { lineBlocks, NEWLINE } from '../lib/line-blocks.ts'
import { replaceLogStart } from './log-start.ts'

/**
 * An event as a line of a spool file, in pieces: the slug of its stage, and all that COPY reads behind its position.
 */
export function toEventLine({ content, rows }: EventItem): readonly Buffer[] {
  const { id, stage, kind, table, key, token, occurredAt } = content
  const [head, tail] = [
    [stage, id, kind, table ?? null, key ? toArrayText(key) : null],
    [token ?? null, occurredAt],
  ].map((values) => toCopyText(values).slice(0, -1))
  return [Buffer.from(`${head}\t`), ...(rows ?? [NO_ROWS]), Buffer.from(`\t${tail}\n`)]
}

const NO_ROWS = Buffer.from('\\N')

/**
 * Loads the event log of an archive beside those of its target stages, in its order.
 *
 * @param imports lends a connection that lasts as long as the log takes.
 * @param stageIds of the target, by slug; events of a stage that it lacks are left out.
 * @param lines as `toEventLine` makes them.
 * @param sessionName what PostgreSQL calls the session.
 */
export async function loadLog(
  imports: Database,
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<BorrowedBytes>,
  { sessionName }: { readonly sessionName?: string | undefined } = {},
): Promise<void> {
  const client = await imports.pool.connect()
  try {
    if (sessionName !== undefined) await nameSession(client, sessionName)
    await copyInto(client, COPY_EVENTS, eventText(stageIds, lines))
  } catch (error) {
    client.release(true)
    throw error
  }
  // A session that has a name is not used again.
  client.release(sessionName !== undefined)
}

/** They have been checked; none need be held as a whole. */
const IN_PIECES = () => ({ maxBytes: 256 * 1024, inPieces: true })

const COPY_EVENTS = `
  COPY system.loading_event (stage_id, position, id, kind, table_name, key_columns, rows, archived_token_id, occurred_at)
  FROM STDIN`

async function* eventText(
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<BorrowedBytes>,
): AsyncGenerator<BorrowedBytes, void, undefined> {
  let position = 0
  let isWithin = false
  let isLeftOut = false
  for await (const block of lineBlocks(copied(lines), IN_PIECES)) {
    const texts: Buffer[] = []
    for (let start = 0; start < block.length; ) {
      const newline = block.indexOf(NEWLINE, start)
      const end = newline < 0 ? block.length : newline + 1
      if (!isWithin) {
        const tab = block.indexOf(TAB, start)
        const stageId = stageIds.get(block.toString('latin1', start, tab))
        isLeftOut = stageId === undefined
        if (!isLeftOut) position += 1
        if (!isLeftOut) texts.push(Buffer.from(`${stageId}\t${position}`))
        start = tab
      }
      if (!isLeftOut) texts.push(block.subarray(start, end))
      isWithin = newline < 0
      start = end
    }
    if (texts.length > 0) yield new BorrowedBytes(Buffer.concat(texts))
  }
}

const TAB = 0x09

/**
 * Puts the event log that was loaded beside in the place of the stage's own, which loses its own. All of it is one
 * transaction here; its events keep their ids and their order. What an archive tells is its sender's word: its events are
 * marked with the import, and the tokens that they name are not taken for this server's.
 *
 * @param tokenId the token that imports; null for the root token. @param eventsSince since when the log has all events.
 */
export async function replaceLog(
  tx: Transaction,
  stageId: string,
  { tokenId, eventsSince }: { readonly tokenId: string | null; readonly eventsSince: string | undefined },
): Promise<void> {
  await replaceLogStart(tx, stageId, eventsSince)
  await tx.transaction.deleteMany({ where: { stageId } })
  await tx.event.deleteMany({ where: { stageId } })
  await tx.$executeRaw`
    WITH log AS (SELECT nextval('system.open_transaction_id_seq') AS id),
    events AS (
      INSERT INTO system.event (stage_id, transaction_id, id, kind, table_name, key_columns, rows, archived_token_id,
                                occurred_at, imported_at, imported_by)
      SELECT stage_id, log.id, loading_event.id, kind, table_name, key_columns, rows, archived_token_id,
             occurred_at, now(), ${tokenId}::uuid
      FROM system.loading_event, log WHERE stage_id = ${stageId}::uuid ORDER BY position
    )
    INSERT INTO system.transaction (stage_id, id, reference)
    SELECT stage_id, log.id, loading_event.id FROM system.loading_event, log WHERE stage_id = ${stageId}::uuid
    ORDER BY loading_event.position DESC LIMIT 1`
  await tx.loadingEvent.deleteMany({ where: { stageId } })
}

/** Gives up logs that were being loaded for these stages; with their locks, nobody else loads any. */
export const dropLoadingLogs = ({ prisma }: Database, stageIds: readonly string[]): Promise<unknown> =>
  prisma.loadingEvent.deleteMany({ where: { stageId: { in: [...stageIds] } } })

/** The stages for which a log is being loaded, or was when its import died. */
export const listLoadingLogs = async ({ prisma }: Database): Promise<readonly string[]> =>
  (await prisma.loadingEvent.groupBy({ by: ['stageId'] })).map(({ stageId }) => stageId)
