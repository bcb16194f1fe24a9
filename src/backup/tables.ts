import {
  attachedServerSubject,
  attachmentSubject,
  projectSubject,
  scheduleSubject,
  webhookSubject,
} from '../projects/sealed-subjects.ts'

/** A control table of which a backup has rows. */
export interface BackedUpTable {
  readonly name: string
  /** Which of its rows: SQL about `t`; all where it is left out. */
  readonly where?: string
  /** A column that is sealed with the server's secret key. It is opened, and the whole backup is sealed with another. */
  readonly sealed?: {
    readonly column: string
    readonly owner: 'id' | 'project_id'
    readonly subjectOf: (id: string) => string
  }
  /** What a row has elsewhere than where it was backed up. */
  readonly replaced?: Readonly<Record<string, null | boolean>>
}

/** Neither half made nor for a moment only. */
const PROJECT = (id: string): string =>
  `${id} IN (SELECT id FROM control.project WHERE scratch_for IS NULL AND NOT unfinished)`

/** Jobs whose archives are there: what they were asked for says what the archives hold. */
const HAS_ARCHIVE = (id: string): string =>
  `${id} IN (SELECT job_id FROM control.artifact JOIN control.job ON job.id = job_id
     WHERE artifact.kind = 'output' AND artifact.state = 'ready' AND job.status = 'succeeded')`

/**
 * What there is to know of an installation, each table after those that it refers to. Neither events nor notifications are
 * among it, nor jobs that made no archive.
 */
export const TABLES: readonly BackedUpTable[] = [
  {
    name: 'project',
    where: PROJECT('t.id'),
    sealed: { column: 'sealed_password', owner: 'id', subjectOf: projectSubject },
  },
  { name: 'attached_server', sealed: { column: 'sealed_address', owner: 'id', subjectOf: attachedServerSubject } },
  {
    name: 'attachment',
    where: PROJECT('t.project_id'),
    sealed: { column: 'sealed_address', owner: 'project_id', subjectOf: attachmentSubject },
  },
  { name: 'stage', where: PROJECT('t.project_id') },
  { name: 'role', where: PROJECT('t.project_id') },
  { name: 'token' },
  { name: 'membership', where: PROJECT('t.project_id') },
  { name: 'schedule', sealed: { column: 'sealed_secrets', owner: 'id', subjectOf: scheduleSubject } },
  {
    name: 'job',
    where: HAS_ARCHIVE('t.id'),
    replaced: { sealed_secrets: null, idempotency_key: null, idempotency_hash: null, heartbeat_at: null },
  },
  {
    name: 'artifact',
    where: `t.kind = 'output' AND t.state = 'ready' AND ${HAS_ARCHIVE('t.job_id')}`,
    replaced: { check_began_at: null },
  },
  { name: 'schedule_run', where: HAS_ARCHIVE('t.job_id') },
  { name: 'webhook', sealed: { column: 'sealed_address', owner: 'id', subjectOf: webhookSubject } },
]
