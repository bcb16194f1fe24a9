import { createProject } from '../service/projects.ts'
import type { TestWharf } from '../service/wharf.ts'

export const SHIPS = `
  CREATE TABLE port (id integer PRIMARY KEY, name text NOT NULL);
  CREATE TABLE ship (
    id integer PRIMARY KEY, name text NOT NULL UNIQUE, tons integer CONSTRAINT tons_are_positive CHECK (tons > 0),
    port integer CONSTRAINT ship_at_home REFERENCES port);
  INSERT INTO port VALUES (1, 'Lanternholm'), (2, 'Amber Quay');
  INSERT INTO ship VALUES (1, 'Anchor', 100, 1), (2, 'Buoy', 200, 1), (3, 'Crane', 300, NULL);`

/** Makes the project `ships` with two small tables in its stage `live`. */
export const createShips = (wharf: TestWharf, script = SHIPS): Promise<void> => createProject(wharf, 'ships', script)

export const SHIP = '/content/ships/live/ship'

/** The stage's latest event as its log has it, in the order of commit. */
export async function latestEvent({ database }: Pick<TestWharf, 'database'>, project = 'ships'): Promise<string> {
  const [row] = await database.query<{ id: string }>(
    `SELECT event.id FROM system.event
     JOIN system.transaction ON transaction.stage_id = event.stage_id AND transaction.id = event.transaction_id
     JOIN control.stage ON stage.id = event.stage_id JOIN control.project ON project.id = stage.project_id
     WHERE project.slug = $1 ORDER BY transaction.position DESC, event.ordinal DESC LIMIT 1`,
    [project],
  )
  return row?.id ?? ''
}

/** The schema of a project's stage `live`. */
export async function schemaOf({ database }: Pick<TestWharf, 'database'>, project = 'ships'): Promise<string> {
  const [row] = await database.query<{ schema_name: string }>(
    `SELECT schema_name FROM control.stage JOIN control.project ON project.id = stage.project_id
     WHERE project.slug = $1 AND stage.slug = 'live'`,
    [project],
  )
  return row?.schema_name ?? ''
}
