import { query } from '../../test/support/servers/sessions.ts'
import type { History } from '../history.ts'
import { ACCOUNTS, type Archive, FLEETING, MIRROR, SWAPPED } from '../projects.ts'
import type { Postgres } from '../servers/postgres.ts'
import { checkContents, checkReferences, checkReplacements, EVENTS_OF, type LoggedEvent } from './log.ts'
import { checkFleetingRows, checkRows } from './rows.ts'

interface StageRow {
  readonly id: string
  readonly schema: string
}

async function findStage(superuserUrl: string, slug: string): Promise<StageRow> {
  const [row] = await query<{ id: string; schema: string }>(
    superuserUrl,
    `SELECT stage.id, stage.schema_name AS schema FROM control.stage JOIN control.project ON project.id = project_id
     WHERE project.slug = $1`,
    [slug],
  )
  if (!row) throw new Error(`there is no project ${slug}`)
  return row
}

/** What a project's stage has now. */
export async function readRows(superuserUrl: string, slug: string): Promise<readonly (readonly [string, number])[]> {
  const { schema } = await findStage(superuserUrl, slug)
  const rows = await query<{ id: string; n: number }>(superuserUrl, `SELECT id, n FROM "${schema}".item`)
  return rows.map(({ id, n }) => [id, n])
}

/** Holds what is there in the end against what clients were told. */
export async function checkProjects(
  history: History,
  { superuserUrl, crashes }: Postgres,
  archives: readonly Archive[],
): Promise<readonly string[]> {
  const eventsOf = async (slug: string): Promise<readonly LoggedEvent[]> => {
    const { id } = await findStage(superuserUrl, slug)
    return query<LoggedEvent & Record<string, unknown>>(superuserUrl, EVENTS_OF, [id])
  }
  const swappedEvents = await eventsOf(SWAPPED)
  const archivedRows = archives.map(({ rows }) => rows)
  return [
    ...checkRows(history, ACCOUNTS, await readRows(superuserUrl, ACCOUNTS)),
    ...checkFleetingRows(history, FLEETING, await readRows(superuserUrl, FLEETING), crashes),
    ...checkReferences(history, ACCOUNTS, await eventsOf(ACCOUNTS)),
    ...checkReferences(history, FLEETING, await eventsOf(FLEETING)),
    ...checkReferences(history, SWAPPED, swappedEvents),
    ...checkReplacements(history, SWAPPED, swappedEvents),
    ...checkContents(history, swappedEvents, archivedRows, await readRows(superuserUrl, SWAPPED)),
    ...checkReplacements(history, MIRROR, await eventsOf(MIRROR)),
  ]
}
