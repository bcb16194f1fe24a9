import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import type { LineContent } from '../../archive/lines.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { toCopyText } from './copy-text.ts'

/** What goes to PostgreSQL at a time, in characters of its rows and in events. */
const BATCH_CHARS = 256 * 1024
const BATCH_EVENTS = 1_000

export interface EventLoader {
  add(event: LineContent<'event'>): Promise<void>
  /** Ends the log. Only now is it there, beside the stages' own. */
  end(): Promise<void>
  /** Leaves nothing of it; does nothing after `end`. */
  abandon(): void
}

/**
 * Loads the event log of an archive beside those of its target stages, in its order.
 *
 * @param stageIds of the target, by slug; events of a stage that it lacks are left out.
 */
export async function openEventLoader(
  { snapshots }: { readonly snapshots: Database },
  stageIds: ReadonlyMap<string, string>,
): Promise<EventLoader> {
  const client = await snapshots.pool.connect()
  const copy = client.query(
    copyFrom(`COPY system.loading_event (stage_id, position, id, kind, table_name, key_columns, rows, token_id,
                                        occurred_at) FROM STDIN`),
  )
  const done = finished(copy)
  // Awaited in `flush` and `end`; failing between them is no unhandled rejection.
  void Promise.allSettled([done])
  let open = true
  let position = 0
  let batch: (string | number | null)[][] = []
  let chars = 0

  const flush = async (): Promise<void> => {
    const text = toCopyText(batch)
    batch = []
    chars = 0
    if (!copy.write(text)) await Promise.race([once(copy, 'drain'), done])
  }
  const close = (broken: boolean): void => {
    if (!open) return
    open = false
    client.release(broken)
  }

  return {
    async add({ id, stage, kind, table, key, rows, token, occurredAt }) {
      const stageId = stageIds.get(stage)
      if (stageId === undefined) return
      position += 1
      const [keyColumns = null, rowTexts = null] = [key, rows].map((list) => list && toArrayText(list))
      batch.push([stageId, position, id, kind, table ?? null, keyColumns, rowTexts, token ?? null, occurredAt])
      chars += rowTexts?.length ?? 0
      if (batch.length >= BATCH_EVENTS || chars >= BATCH_CHARS) await flush()
    },
    async end() {
      await flush()
      copy.end()
      await done
      close(false)
    },
    abandon() {
      close(true)
    },
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
