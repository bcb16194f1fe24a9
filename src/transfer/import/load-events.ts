import { toCopyText } from '../../archive/copy-text.ts'
import type { LineContent } from '../../archive/lines.ts'
import type { Database, Transaction } from '../../database/database.ts'
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
 */
export async function loadEvents(
  { snapshots }: { readonly snapshots: Database },
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<Buffer>,
): Promise<void> {
  const client = await snapshots.pool.connect()
  try {
    await copyInto(client, COPY_EVENTS, eventText(stageIds, lines))
  } catch (error) {
    client.release(true)
    throw error
  }
  client.release()
}

const COPY_EVENTS = `
  COPY system.loading_event (stage_id, position, id, kind, table_name, key, values, token_id, occurred_at) FROM STDIN`

async function* eventText(
  stageIds: ReadonlyMap<string, string>,
  lines: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let position = 0
  for await (const block of lineBlocks(lines, Number.POSITIVE_INFINITY)) {
    let text = ''
    for (const line of block.toString().split('\n')) {
      if (line === '') continue
      const { id, stage, kind, table, key, values, token, occurredAt }: EventContent = JSON.parse(line)
      const stageId = stageIds.get(stage)
      if (stageId === undefined) continue
      position += 1
      text += toCopyText([
        ...[stageId, position, id, kind, table ?? null],
        ...[key ?? null, values ?? null, token ?? null, occurredAt],
      ])
    }
    if (text !== '') yield Buffer.from(text)
  }
}

/** Puts the event log that was loaded beside in the place of the stage's own, which loses its own. */
export async function takeLoadedEvents(tx: Transaction, stageId: string): Promise<void> {
  await tx.event.deleteMany({ where: { stageId } })
  await tx.$executeRaw`
    INSERT INTO system.event (stage_id, position, id, kind, table_name, key, values, token_id, occurred_at)
    SELECT stage_id, position, id, kind, table_name, key, values, token_id, occurred_at
    FROM system.loading_event WHERE stage_id = ${stageId}::uuid`
  await tx.loadingEvent.deleteMany({ where: { stageId } })
}
