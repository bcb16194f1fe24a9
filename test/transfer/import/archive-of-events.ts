import { randomUUID } from 'node:crypto'
import { createArchiveWriter } from '../../../src/archive/archive-writer.ts'
import { EVENT_PARTS } from '../../../src/archive/pages.ts'
import { toByteText } from '../../../src/lib/byte-text.ts'

export interface EventToWrite {
  readonly id: string
  readonly stage: 'live'
  readonly kind: 'create'
  readonly table: 'item'
  readonly key: readonly ['id']
  readonly rows: readonly [string]
  readonly occurredAt: string
}

/** An event whose line, newline included, has so many bytes, or a few more where that is too few for one. */
export function eventOfSize(bytes: number): EventToWrite {
  const event: EventToWrite = {
    id: randomUUID(),
    stage: 'live',
    kind: 'create',
    table: 'item',
    key: ['id'],
    rows: ['""'],
    occurredAt: '2026-11-20T20:59:59.123456Z',
  }
  const missing = bytes - Buffer.byteLength(`${JSON.stringify(event)}\n`)
  return { ...event, rows: [JSON.stringify('x'.repeat(Math.max(0, missing)))] }
}

/** An archive of a project that has an event log, and a stage without tables. */
export function archiveOfEvents(events: readonly EventToWrite[]): Buffer {
  const writer = createArchiveWriter()
  const at = '2026-11-20T21:00:00.000Z'
  const joined = toByteText(events.map((event) => JSON.stringify(event)).join(EVENT_PARTS.join))
  return Buffer.concat([
    writer.open('archive', { version: 1, createdAt: at, snapshotAt: at, generator: 'by-hand/1' }),
    writer.open('project', { slug: 'shop', system: true }),
    writer.open('system', {}),
    writer.eventPage(events.length, joined),
    writer.close('systemEnd'),
    writer.open('stage', { slug: 'live' }),
    writer.close('stageEnd'),
    writer.close('projectEnd'),
    writer.close('end'),
  ])
}
