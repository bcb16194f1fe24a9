import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Actor } from './actors/actor.ts'
import { churnProjects } from './actors/churner.ts'
import { exportProject } from './actors/exporter.ts'
import { importArchives, undoImports } from './actors/importer.ts'
import { checkUnchanged, readConditionally, readKeptRows } from './actors/reader.ts'
import { transferProject } from './actors/transferer.ts'
import { writeRows } from './actors/writer.ts'
import { ageUploads, findLeftovers } from './checks/leftovers.ts'
import { checkContents, checkReferences, checkReplacements, EVENTS_OF, type LoggedEvent } from './checks/log.ts'
import { checkFleetingRows, checkRows } from './checks/rows.ts'
import { type Client, createClient, textOf } from './client.ts'
import { injectFaults, type Servers } from './faults.ts'
import { createHistory, type History } from './history.ts'
import { createRandom } from './random.ts'
import { createPostgres, type Postgres } from './servers/postgres.ts'
import { createRedis } from './servers/redis.ts'
import { query } from './servers/sessions.ts'
import { createWharfProcess, type WharfProcess } from './servers/wharf-process.ts'

/** What is written, read and exported, and never imported into. */
const LEDGER = 'ledger'
/** What the ledger is transferred to. */
const MIRROR = 'mirror'
/** What is imported into and undone while it is written. */
const SWAPPED = 'swapped'
/** What every crash of PostgreSQL empties. */
const FLEETING = 'fleeting'

const TABLE = 'TABLE item (id text PRIMARY KEY, n integer NOT NULL)'
const ARCHIVE_ROWS = [5, 500, 3_000, 20_000, 60_000]

/** How long what was under way may take to end once all servers work again, in milliseconds. */
const SETTLING_MS = 240_000

/** How long what died may leave something behind, in milliseconds: longer than sweeps are apart. */
const LEFTOVERS_MS = 90_000

export interface ChaosOptions {
  readonly seed: number
  readonly seconds: number
  /** An empty folder that every user may enter; stays for whoever wants to look. */
  readonly folder: string
  readonly tell: (what: string) => void
}

export interface ChaosReport {
  /** What must not have happened; empty where all is well. */
  readonly violations: readonly string[]
  readonly counts: ReadonlyMap<string, number>
}

/**
 * Runs two APIs and two workers on a PostgreSQL and a Redis of their own, lets clients use them, and ends, kills and
 * freezes all of them at random. Then lets everything come to rest, and compares what is there with what was
 * acknowledged.
 */
export async function runChaos({ seed, seconds, folder, tell }: ChaosOptions): Promise<ChaosReport> {
  const history = createHistory()
  const servers = await startServers(folder, history)
  const { postgres, redis, processes } = servers
  try {
    const urls = apiUrls(processes)
    let isCalm = true
    const clientOf = (name: string): Client =>
      createClient({
        urls,
        random: createRandom(seed, `client ${name}`),
        isCalm: () => isCalm,
        onViolation: (what) => history.violations.push(what),
      })
    const archives = await prepareProjects(clientOf('setup'))

    isCalm = false
    const until = performance.now() + seconds * 1_000
    const isOver = (): boolean => performance.now() >= until
    const actorOf = (name: string): Actor => ({
      client: clientOf(name),
      history,
      random: createRandom(seed, name),
      isOver,
    })
    const acting = startActors(actorOf, postgres.superuserUrl, archives)
    await injectFaults(servers, createRandom(seed, 'faults'), { isOver, tell })
    tell('all servers work again')
    isCalm = true
    history.violations.push(...(await unfinished(acting, SETTLING_MS)))

    isCalm = false
    for (const process of processes) await process.stop()
    for (const process of processes) await process.start()
    isCalm = true
    await ageUploads(postgres.superuserUrl)
    history.violations.push(...(await leftoversAfter(LEFTOVERS_MS, postgres.superuserUrl, folder, processes)))
    history.violations.push(...(await checkProjects(history, postgres, archives)))
    for (const project of [LEDGER, MIRROR, SWAPPED, FLEETING]) {
      history.violations.push(...(await checkUnchanged(clientOf('last reader'), { project, table: 'item' })))
    }
    history.violations.push(...neverDone(history))
    for (const process of processes) await process.stop()
  } finally {
    await Promise.allSettled(processes.map((process) => process.kill()))
    await Promise.allSettled([redis.kill(), postgres.stop()])
  }
  return { violations: history.violations, counts: history.counts }
}

async function startServers(folder: string, history: History): Promise<Servers> {
  const folders = await makeFolders(folder, [
    'postgres',
    'redis',
    'artifacts',
    'api-1',
    'api-2',
    'worker-1',
    'worker-2',
  ])
  const postgres = await createPostgres(folders.postgres ?? folder)
  const redis = await createRedis(folders.redis ?? folder)
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    WHARF_ARTIFACTS: folders.artifacts ?? folder,
    WHARF_SECRET_KEY: 'secret-key-of-the-chaos-with-many-characters',
  }
  const create = (part: 'api' | 'worker', number: number): Promise<WharfProcess> => {
    const name = `${part}-${number}`
    return createWharfProcess({
      name,
      part,
      folder: folders[name] ?? folder,
      environment,
      onUnexpectedEnd: (how) => history.violations.push(`${name} ended by itself: ${how}`),
    })
  }
  const first = await create('api', 1)
  const others = [await create('api', 2), await create('worker', 1), await create('worker', 2)]
  for (const process of [first, ...others]) await process.start()
  return { postgres, redis, processes: [first, ...others] }
}

async function makeFolders(folder: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const paths = names.map((name) => [name, join(folder, name)] as const)
  for (const [, path] of paths) {
    await mkdir(path)
    await chmod(path, 0o755)
  }
  return Object.fromEntries(paths)
}

function apiUrls(processes: Servers['processes']): readonly [string, ...string[]] {
  const [first, ...others] = processes.filter(({ name }) => name.startsWith('api')).map(({ url }) => url)
  if (first === undefined) throw new Error('there is no API')
  return [first, ...others]
}

interface Archive {
  readonly bytes: Buffer
  readonly rows: readonly (readonly [string, number])[]
}

/** Makes the projects, and the archives that are imported: each with other rows. */
async function prepareProjects(client: Client): Promise<readonly Archive[]> {
  const source = 'source'
  for (const slug of [LEDGER, MIRROR, SWAPPED, source]) {
    await expectDone(client, { method: 'POST', path: '/projects', json: { slug } })
    await applySql(client, slug, `CREATE ${TABLE}`)
  }
  await expectDone(client, { method: 'POST', path: '/projects', json: { slug: FLEETING } })
  await applySql(client, FLEETING, `CREATE UNLOGGED ${TABLE}`)
  const archives: Archive[] = []
  for (const [index, count] of ARCHIVE_ROWS.entries()) {
    const rows = Array.from({ length: count }, (_, n) => [`a${index}-${n}`, n] as const)
    await applySql(
      client,
      source,
      `TRUNCATE item; INSERT INTO item SELECT 'a${index}-' || n, n FROM generate_series(0, ${count - 1}) n`,
    )
    const json = { projects: [{ slug: source, system: false }] }
    const answer = await expectDone(client, { method: 'POST', path: '/export', json })
    archives.push({ bytes: gzipSync(answer.body), rows })
  }
  return archives
}

const applySql = (client: Client, slug: string, sql: string) =>
  expectDone(client, {
    method: 'POST',
    path: `/projects/${slug}/stages/live/schema`,
    headers: { 'content-type': 'application/sql' },
    body: sql,
  })

async function expectDone(client: Client, call: Parameters<Client['ask']>[0]) {
  const answer = await client.askUntilAnswered(call)
  if (answer.status >= 300) throw new Error(`${call.method} ${call.path}: ${textOf(answer)}`)
  return answer
}

function startActors(
  actorOf: (name: string) => Actor,
  superuserUrl: string,
  archives: readonly Archive[],
): ReadonlyMap<string, Promise<void>> {
  const ledger = { project: LEDGER, table: 'item' }
  const swapped = { project: SWAPPED, table: 'item' }
  const fleeting = { project: FLEETING, table: 'item' }
  const readMirror = () => readRows(superuserUrl, MIRROR).catch(() => undefined)
  const acts: Readonly<Record<string, (actor: Actor) => Promise<void>>> = {
    'writer 1': (actor) => writeRows(actor, { ...ledger, name: 'w1', pauseMs: 40 }),
    'writer 2': (actor) => writeRows(actor, { ...ledger, name: 'w2', pauseMs: 40 }),
    'writer 3': (actor) => writeRows(actor, { ...ledger, name: 'w3', pauseMs: 40 }),
    'writer beside imports 1': (actor) => writeRows(actor, { ...swapped, name: 's1', pauseMs: 80 }),
    'writer beside imports 2': (actor) => writeRows(actor, { ...swapped, name: 's2', pauseMs: 80 }),
    'reader 1': (actor) => readConditionally(actor, { ...ledger, pauseMs: 30 }),
    'reader 2': (actor) => readConditionally(actor, { ...ledger, pauseMs: 30 }),
    'reader beside imports': (actor) => readConditionally(actor, { ...swapped, pauseMs: 30 }),
    'writer of fleeting rows': (actor) => writeRows(actor, { ...fleeting, name: 'f1', pauseMs: 1_200 }),
    'reader of fleeting rows': (actor) => readKeptRows(actor, { ...fleeting, pauseMs: 60 }),
    importer: (actor) => importArchives(actor, { project: SWAPPED, archives: archives.map(({ bytes }) => bytes) }),
    undoer: (actor) => undoImports(actor, { project: SWAPPED }),
    exporter: (actor) => exportProject(actor, { project: LEDGER }),
    transferer: (actor) => transferProject(actor, { from: LEDGER, to: MIRROR, readRows: readMirror }),
    churner: (actor) => churnProjects(actor, { name: 'passing' }),
  }
  return new Map(Object.entries(acts).map(([name, perform]) => [name, perform(actorOf(name))]))
}

/** Waits for clients to end what they have begun. @returns what they did not. */
async function unfinished(acting: ReadonlyMap<string, Promise<void>>, limitMs: number): Promise<readonly string[]> {
  const timer = new AbortController()
  const isTimeOver = sleep(limitMs, true, { signal: timer.signal }).catch(() => false)
  const ends = [...acting].map(async ([name, act]) => {
    const outcome = act.then(
      () => [],
      (error: unknown) => [`the ${name} failed: ${error}`],
    )
    const late = isTimeOver.then(() => [`the ${name} waits without end for what it asked for`])
    return Promise.race([outcome, late])
  })
  const found = (await Promise.all(ends)).flat()
  timer.abort()
  return found
}

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

async function readRows(superuserUrl: string, slug: string): Promise<readonly (readonly [string, number])[]> {
  const { schema } = await findStage(superuserUrl, slug)
  const rows = await query<{ id: string; n: number }>(superuserUrl, `SELECT id, n FROM "${schema}".item`)
  return rows.map(({ id, n }) => [id, n])
}

async function checkProjects(
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
    ...checkRows(history, LEDGER, await readRows(superuserUrl, LEDGER)),
    ...checkFleetingRows(history, FLEETING, await readRows(superuserUrl, FLEETING), crashes),
    ...checkReferences(history, LEDGER, await eventsOf(LEDGER)),
    ...checkReferences(history, FLEETING, await eventsOf(FLEETING)),
    ...checkReferences(history, SWAPPED, swappedEvents),
    ...checkReplacements(history, SWAPPED, swappedEvents),
    ...checkContents(history, swappedEvents, archivedRows, await readRows(superuserUrl, SWAPPED)),
    ...checkReplacements(history, MIRROR, await eventsOf(MIRROR)),
  ]
}

/** What has to have been done at least once: where everything was refused, nothing has been tried. */
const NEEDED = [
  'writes to ledger: done',
  'writes to swapped: done',
  'reads: 200',
  'reads: 304',
  'reads of rows that were kept: 304',
  'imports: done',
  'exports: done',
  'transfers: done',
  'projects made and deleted',
]

const neverDone = ({ counts }: History): readonly string[] =>
  NEEDED.filter((what) => !counts.get(what)).map((what) => `never came about: ${what}`)

/** What is left when nothing goes on any more; waits until nothing is, or the time is over. */
async function leftoversAfter(
  limitMs: number,
  superuserUrl: string,
  folder: string,
  processes: readonly WharfProcess[],
): Promise<readonly string[]> {
  const folders = { artifacts: join(folder, 'artifacts'), data: processes.map(({ name }) => join(folder, name)) }
  const until = performance.now() + limitMs
  for (;;) {
    const left = await findLeftovers(superuserUrl, folders)
    if (left.length === 0 || performance.now() > until) return left.map((what) => `left over: ${what}`)
    await sleep(500)
  }
}
