import { toCopyText } from '../../archive/copy-text.ts'
import type { LineContent } from '../../archive/lines.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { nameSession } from '../../database/session-name.ts'
import { lineBlocks } from '../../lib/line-blocks.ts'
import { copyInto } from './copy-into.ts'

type EventContent = LineContent<'event'>

/** An event as a line of a spool file. */
export const toEventLine = (event: EventContent): Buffer => Buffer.from(`${JSON.stringify(event)}\n`)

/**
 * Loads the event log of an archive beside those of its target stages, in its order.
 *
 * @param stageIds of the target, by slug; events of a stage that it lacks are left out.
 * @param lines as `toEventLine` makes them.
 * @param sessionName what PostgreSQL calls the session.
 */
export async function loadEvents(
  { snapshots }: { readonly snapshots: Database },
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<Buffer>,
  { sessionName }: { readonly sessionName?: string | undefined } = {},
): Promise<void> {
  const client = await snapshots.pool.connect()
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

const COPY_EVENTS = `
  COPY system.loading_event (stage_id, position, id, kind, table_name, key_columns, rows, token_id, occurred_at)
  FROM STDIN`

async function* eventText(
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let position = 0
  for await (const block of lineBlocks(lines, Number.POSITIVE_INFINITY)) {
    let text = ''
    for (const line of block.toString().split('\n')) {
      if (line === '') continue
      const { id, stage, kind, table, key, rows, token, occurredAt }: EventContent = JSON.parse(line)
      const stageId = stageIds.get(stage)
      if (stageId === undefined) continue
      position += 1
      const [keyColumns = null, rowTexts = null] = [key, rows].map((list) => list && toArrayText(list))
      text += toCopyText([
        ...[stageId, position, id, kind, table ?? null],
        ...[keyColumns, rowTexts, token ?? null, occurredAt],
      ])
    }
    if (text !== '') yield Buffer.from(text)
  }
}

/** A list as PostgreSQL reads an array. @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
const toArrayText = (list: readonly string[]): string =>
  `{${list.map((text) => `"${text.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`

/**
 * Puts the event log that was loaded beside in the place of the stage's own, which loses its own. All of it is one
 * transaction here; its events keep their ids and their order.
 */
export async function takeLoadedEvents(tx: Transaction, stageId: string): Promise<void> {
  await tx.transaction.deleteMany({ where: { stageId } })
  await tx.event.deleteMany({ where: { stageId } })
  await tx.$executeRaw`
    WITH log AS (SELECT nextval('system.open_transaction_id_seq') AS id),
    events AS (
      INSERT INTO system.event (stage_id, transaction_id, id, kind, table_name, key_columns, rows, token_id, occurred_at)
      SELECT stage_id, log.id, loading_event.id, kind, table_name, key_columns, rows, token_id, occurred_at
      FROM system.loading_event, log WHERE stage_id = ${stageId}::uuid ORDER BY position
    )
    INSERT INTO system.transaction (stage_id, id, reference)
    SELECT stage_id, log.id, loading_event.id FROM system.loading_event, log WHERE stage_id = ${stageId}::uuid
    ORDER BY loading_event.position DESC LIMIT 1`
  await tx.loadingEvent.deleteMany({ where: { stageId } })
}
