import type pg from 'pg'
import { preparedQuery } from '../database/prepared-query.ts'
import { queryVersions, type StageVersion, VERSION_COLUMNS, type VersionRow } from '../events/stage-versions.ts'
import { TOKEN_STATE, type TokenState } from '../projects/token-validity.ts'

/** The role of a project that needs no token. */
const PUBLIC_ROLE = 'public'

/** What the control tables know of a token, a project and a stage that a request names; each undefined if unknown. */
export interface Grant {
  readonly token: (TokenState & { readonly id: string }) | undefined
  /** Its login is null where it is in another database than the shared one; `addressOf`: which address that has, by when it was given. */
  readonly project:
    | { readonly id: string; readonly login: string | null; readonly addressOf: string | null }
    | undefined
  readonly stage: { readonly id: string; readonly schemaName: string; readonly logEvents: boolean } | undefined
  /** The token's role in the project; without a token, the project's public role. */
  readonly role: { readonly name: string; readonly read: boolean; readonly write: boolean } | undefined
  /** How the stage stands, where that can be read in the same statement. */
  readonly version: StageVersion | undefined
}

/**
 * Its arrays are selected, so that PostgreSQL does not see how long they are: it would make a plan of its own for each that is
 * short, which takes it eight times as long as to run the one that it has.
 *
 * @param versions whether the stage's version can be read too: where the system tables are in the same database.
 */
const grantsSql = (versions: boolean): string => `
  SELECT asked.ordinal AS question,
         token.id AS token_id, ${TOKEN_STATE},
         project.id AS project_id, CASE WHEN project.own_database IS NULL THEN project.login END AS login,
         attachment.changed_at::text AS address_of,
         stage.id AS stage_id, stage.schema_name, stage.logged_since IS NOT NULL AS log_events,
         role.name AS role, role.content_read, role.content_write${versions ? `, ${VERSION_COLUMNS}` : ''}
  FROM unnest((SELECT $1::bytea[]), (SELECT $2::text[]), (SELECT $3::text[])) WITH ORDINALITY AS asked(hash, project, stage, ordinal)
  LEFT JOIN control.token ON token.hash = asked.hash
  LEFT JOIN control.project ON project.slug = asked.project
  LEFT JOIN control.attachment ON attachment.project_id = project.id
  LEFT JOIN control.stage ON stage.project_id = project.id AND stage.slug = asked.stage
  LEFT JOIN control.membership ON membership.token_id = token.id AND membership.project_id = project.id
  LEFT JOIN control.role ON role.project_id = project.id
    AND (role.id = membership.role_id OR asked.hash IS NULL AND role.name = '${PUBLIC_ROLE}')
  ${versions ? 'LEFT JOIN system.stage_state ON stage_state.stage_id = stage.id' : ''}`

const GRANTS = { name: 'wharf-content-grants', text: grantsSql(false) }
const GRANTS_WITH_VERSIONS = { name: 'wharf-content-grants-with-versions', text: grantsSql(true) }

interface Row extends Partial<VersionRow>, TokenState {
  /** From 1, in the order of the questions; a bigint, so text. */
  readonly question: string
  readonly token_id: string | null
  readonly project_id: string | null
  readonly login: string | null
  readonly address_of: string | null
  readonly stage_id: string | null
  readonly schema_name: string
  readonly log_events: boolean
  readonly role: string | null
  readonly content_read: boolean
  readonly content_write: boolean
}

/**
 * Looks up all that the questions name, in one statement.
 *
 * @param versions whether the system tables are in the same database.
 */
export async function readGrants(
  pool: pg.Pool,
  questions: ReadonlyMap<
    string,
    { readonly digest: Buffer | undefined; readonly project: string; readonly stage: string }
  >,
  { versions }: { readonly versions: boolean },
): Promise<ReadonlyMap<string, Grant>> {
  const asked = [...questions.values()]
  const values = [
    asked.map(({ digest }) => digest ?? null),
    asked.map(({ project }) => project),
    asked.map(({ stage }) => stage),
  ]
  const rows = versions
    ? await queryVersions<Row>(pool, GRANTS_WITH_VERSIONS, values)
    : await preparedQuery<Row>(pool, GRANTS, values)
  const keys = [...questions.keys()]
  return new Map(rows.map((row) => [keys[Number(row.question) - 1] ?? '', toGrant(row)]))
}

const toGrant = (row: Row): Grant => ({
  token: row.token_id === null ? undefined : { id: row.token_id, revoked: row.revoked, expired: row.expired },
  project: row.project_id === null ? undefined : { id: row.project_id, login: row.login, addressOf: row.address_of },
  stage:
    row.stage_id === null ? undefined : { id: row.stage_id, schemaName: row.schema_name, logEvents: row.log_events },
  role: row.role === null ? undefined : { name: row.role, read: row.content_read, write: row.content_write },
  version: versionOf(row),
})

const versionOf = ({ reference, generation, structure }: Row): StageVersion | undefined =>
  reference && generation && structure ? { reference, generation, structure } : undefined
