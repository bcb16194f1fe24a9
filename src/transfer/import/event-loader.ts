import { once } from 'node:events'
import { finished } from 'node:stream/promises'
import { from as copyFrom } from 'pg-copy-streams'
import type { LineContent } from '../../archive/lines.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { nameSession } from '../../database/session-name.ts'
import { toCopyText } from './copy-text.ts'

/** Events that go to PostgreSQL at a time. */
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
 * @param sessionName what PostgreSQL calls the session; one that has a name is not used again.
 */
export async function openEventLoader(
  { snapshots }: { readonly snapshots: Database },
  stageIds: ReadonlyMap<string, string>,
  { sessionName }: { readonly sessionName?: string | undefined } = {},
): Promise<EventLoader> {
  const client = await snapshots.pool.connect()
  if (sessionName !== undefined) await nameSession(client, sessionName)
  const copy = client.query(
    copyFrom(`COPY system.loading_event (stage_id, position, id, kind, table_name, key, values, token_id, occurred_at)
              FROM STDIN`),
  )
  const done = finished(copy)
  // Awaited in `flush` and `end`; failing between them is no unhandled rejection.
  void Promise.allSettled([done])
  let open = true
  let position = 0
  let batch: (string | number | null)[][] = []

  const flush = async (): Promise<void> => {
    const text = toCopyText(batch)
    batch = []
    if (!copy.write(text)) await Promise.race([once(copy, 'drain'), done])
  }
  const close = (broken: boolean): void => {
    if (!open) return
    open = false
    client.release(broken)
  }

  return {
    async add({ id, stage, kind, table, key, values, token, occurredAt }) {
      const stageId = stageIds.get(stage)
      if (stageId === undefined) return
      position += 1
      batch.push([stageId, position, id, kind, table ?? null, key ?? null, values ?? null, token ?? null, occurredAt])
      if (batch.length >= BATCH_EVENTS) await flush()
    },
    async end() {
      await flush()
      copy.end()
      await done
      close(sessionName !== undefined)
    },
    abandon() {
      close(true)
    },
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
