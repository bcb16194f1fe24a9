/** What an example sends. */
export interface ExampleValues {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly header?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Stands for the id of what is asked for. */
export const EXAMPLE_ID = '0f8b8a52-2f1f-4d0e-9c5b-0f6d7c1c2a11'

/** The names of the demo project, so that examples can be run with it. */
export const PATH_VALUES: Readonly<Record<string, string>> = {
  slug: 'demo',
  project: 'demo',
  stage: 'live',
  table: 'berth',
  function: 'ships_in_port',
  role: 'editor',
  name: 'warehouse',
  id: EXAMPLE_ID,
  delivery: EXAMPLE_ID,
}

const EXPORT = { projects: [{ slug: 'demo' }] }
const NIGHTLY = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }
const DATABASE = 'postgres://backup:PASSWORD@db.example.org:5432/shop'

/** By operation, what no schema says. */
export const EXAMPLE_VALUES: Readonly<Record<string, ExampleValues>> = {
  listProjects: { query: { limit: 20 } },
  createProject: { body: { slug: 'shop', stages: ['live', 'preview'] } },
  deleteProject: { path: { slug: 'shop' } },
  changeProject: { body: { eventLog: { keepDays: 90, keepEvents: null } } },
  createStage: { body: { slug: 'preview' } },
  deleteStage: { path: { stage: 'preview' } },
  changeStage: { body: { logEvents: true } },
  changeAttachment: { body: { address: DATABASE } },
  attachServer: { body: { name: 'warehouse', address: 'postgres://backup:PASSWORD@db.example.org:5432' } },
  changeAttachedServer: { body: { address: 'postgres://backup:PASSWORD@db.example.org:5433' } },
  setRole: { path: { role: 'auditor' }, body: { content: { read: true, export: true } } },
  deleteRole: { path: { role: 'auditor' } },
  createToken: { body: { name: 'nightly export', memberships: [{ project: 'demo', role: 'viewer' }] } },
  applySchema: { body: 'CREATE TABLE note (id integer PRIMARY KEY, text text NOT NULL)' },
  exportProjects: { body: EXPORT },
  examineExport: { body: EXPORT },
  importArchive: { query: { dryRun: true } },
  importJobFile: { query: { dryRun: true } },
  importUpload: { query: { dryRun: true } },
  createUpload: { header: { 'upload-length': '1048576' } },
  sendUpload: { header: { 'upload-offset': '0' } },
  transferProject: { body: { source: { project: 'demo' }, target: { project: 'shop' } } },
  createSchedule: { body: { name: 'demo every night', kind: 'export', ...NIGHTLY, request: EXPORT, verify: true } },
  previewSchedule: { body: NIGHTLY },
  previewKeep: { body: { last: 7, days: 30 } },
  changeSchedule: { body: { enabled: false } },
  createWebhook: { body: { name: 'on call', url: 'https://example.org/hooks/wharf', events: ['job.failed'] } },
  changeWebhook: { body: { events: ['job.failed', 'proof.failed'] } },
  listJobs: { query: { status: 'failed', limit: 10 } },
  beginSession: { body: { days: 7 } },
  showJob: { header: { prefer: 'wait=20' } },
  getRows: { path: { table: 'ship' }, query: { select: 'name,kind', order: 'name', limit: 3 } },
  insertRows: { path: { table: 'note' }, body: [{ id: 1, text: 'Moored at noon' }] },
  updateRows: { path: { table: 'note' }, query: { id: 'eq.1', select: 'id' }, body: { text: 'Moored at one' } },
  putRow: { path: { table: 'note' }, query: { id: 'eq.1', select: 'id' }, body: [{ id: 1, text: 'Moored at two' }] },
  deleteRows: { path: { table: 'note' }, query: { id: 'eq.1', select: 'id' } },
  callFunction: { body: {} },
}
