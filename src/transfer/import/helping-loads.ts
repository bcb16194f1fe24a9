import { randomUUID } from 'node:crypto'
import { quoteQualified } from '../../database/quoting.ts'
import type { ProjectDatabase } from '../../projects/stage-database.ts'
import type { HelperSource } from '../export/helper-room.ts'
import { takeHelp } from '../export/spare-sessions.ts'
import type { Query } from '../structure/query.ts'
import { type LoadingSession, openLoadingSession, type SessionOptions } from './loading-session.ts'

/** Sessions that help to load. */
export interface HelpingLoads {
  readonly sessions: readonly LoadingSession[]
  /** Ends those that have not committed. To be called in any case. */
  end(): void
}

/**
 * Opens sessions that help to load a schema, as far as there are connections that nobody else needs. They are no more than a
 * help: where one cannot be had, there is one less.
 *
 * @param query in the session that they help.
 */
export async function openHelpingLoads(
  helpers: HelperSource,
  {
    query,
    schemaName,
    extensionSchemas,
  }: { readonly query: Query; readonly schemaName: string } & Pick<ProjectDatabase, 'extensionSchemas'>,
  wanted: number,
  options: SessionOptions,
): Promise<HelpingLoads> {
  const help = await takeHelp(helpers, query, wanted)
  if (!help) return { sessions: [], end: () => undefined }
  const opening = Array.from({ length: help.sessions }, () =>
    openLoadingSession({ database: help, extensionSchemas }, schemaName, options),
  )
  const opened = await Promise.allSettled(opening)
  const sessions = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  let isHeld = true
  return {
    sessions,
    end() {
      for (const session of sessions) session.rollback()
      if (isHeld) helpers.room.giveBack(help.sessions)
      isHeld = false
    },
  }
}

/**
 * The statements by which a transaction shows that a schema is in use (`shadow-schemas.ts`): to make a table locks the schema
 * until the transaction ends, and nothing is left of the table.
 */
export function keepSchema(schemaName: string): readonly string[] {
  const table = quoteQualified(schemaName, `in-use-${randomUUID()}`)
  return [`CREATE TABLE ${table} ()`, `DROP TABLE ${table}`]
}
