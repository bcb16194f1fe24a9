import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createArtifactStore } from '../../src/artifacts/create-artifact-store.ts'
import { repairLogs } from '../../src/projects/attached/repair-logs.ts'
import { exportOf } from '../support/archives/import.ts'
import { type CliResult, runCommand, spawnWharf } from '../support/cli/cli.ts'
import { openTerminal, readCommands } from '../support/cli/guide.ts'
import type { TestDatabase } from '../support/database/database.ts'
import { createExternalDatabase, type ExternalDatabase } from '../support/database/external-database.ts'
import { makeSchedule, showSchedule, untilSettled } from '../support/jobs/schedules.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { type OwnCluster, startOwnCluster } from '../support/servers/own-cluster.ts'
import {
  S3_BUCKET,
  type S3TestServer,
  s3Settings,
  startS3Server,
  stubS3Settings,
} from '../support/servers/s3-server.ts'
import { query } from '../support/servers/sessions.ts'
import { MAY_ATTACH } from '../support/service/attached-location.ts'
import { applyScript, createProject } from '../support/service/projects.ts'
import { SECRET_KEY } from '../support/service/service-process.ts'
import { createToken } from '../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/*
 * A machine is lost, with its database, its secret key and its root token. What is left is the store and the backup's key.
 * The tests go on from one loss, in their order: what is refused changes nothing, so that the recovery comes last.
 */

const bin = installedPrograms()
const BACKUP_KEY = 'the passphrase of the operator of the tests'

const SCRIPT = `
  CREATE TYPE mood AS ENUM ('good');
  CREATE TABLE item (id serial PRIMARY KEY, name text NOT NULL, mood mood);
  CREATE TABLE part (id int, item int REFERENCES item);
  CREATE VIEW first AS SELECT * FROM item WHERE id = 1;
  INSERT INTO item (name, mood) VALUES ('hat', 'good'), ('scarf', NULL); INSERT INTO part VALUES (1, 1)`

/** What is of one run of `pg_dump`. */
const comparable = (dump: string): string => dump.replaceAll(/^\\(un)?restrict .*$/gm, '')

describe.skipIf(bin === undefined).each([['a folder'], ['a bucket']] as const)('from %s', (kind) => {
  let cluster: OwnCluster
  let s3: S3TestServer | undefined
  let folder: string
  let location: string
  let dumps: ReadonlyMap<string, string>
  let databases: ReadonlyMap<string, string>
  let editor: string
  let theirs: ExternalDatabase
  let scheduleId: string

  const urlOf = (url: string, name: string): string => Object.assign(new URL(url), { pathname: `/${name}` }).href
  const asSuperuser = <Row extends object>(sql: string, database = 'postgres') =>
    query<Row>(urlOf(cluster.superuserUrl, database), sql)
  const database = (): TestDatabase => ({
    url: urlOf(cluster.url, 'wharf'),
    superuserUrl: urlOf(cluster.superuserUrl, 'wharf'),
    query: (sql, parameters) => query(urlOf(cluster.superuserUrl, 'wharf'), sql, parameters),
    drop: async () => undefined,
  })
  /** The secret key is lost with the machine: the new one has another. */
  const NEW_KEY = 'secret-key-of-the-new-machine-with-many-characters'
  const environment = (key: string) => ({ WHARF_ARTIFACTS: location, WHARF_SECRET_KEY: key, ...MAY_ATTACH })
  const start = (worker: boolean, key = NEW_KEY): Promise<TestWharf> =>
    startWharf({ database: database(), environment: environment(key), worker })

  /** @param variables instead of the right ones. */
  const recover = (
    options: readonly string[] = [],
    variables: Readonly<Record<string, string>> = {},
  ): Promise<CliResult> => {
    const usual = { DATABASE_URL: database().url, WHARF_DATA_DIR: join(folder, 'new'), WHARF_BACKUP_KEY: BACKUP_KEY }
    const all = { ...usual, ...environment(NEW_KEY), ...variables }
    return runCommand(['recover', all.WHARF_ARTIFACTS, ...options], { variables: all })
  }

  async function dumpAll(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const alone = { superuserUrl: urlOf(cluster.superuserUrl, databases.get('alone') ?? '') }
    found.set('shop', comparable(await cluster.dump(database(), 'shop.live')))
    found.set('shop draft', comparable(await cluster.dump(database(), 'shop.draft')))
    found.set('alone', comparable(await cluster.dump(alone, 'public')))
    return found
  }

  /** As on a new machine: neither databases of Wharf's nor logins of projects, and an empty database. */
  async function loseServer(): Promise<void> {
    for (const name of ['wharf', ...databases.values()])
      await asSuperuser(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
    const logins = await asSuperuser<{ login: string }>(
      "SELECT rolname AS login FROM pg_roles WHERE rolname ~ '^wharf_'",
    )
    for (const { login } of logins) await asSuperuser(`DROP ROLE "${login}"`)
    await asSuperuser('CREATE DATABASE wharf OWNER wharf TEMPLATE template0')
  }

  beforeAll(async () => {
    cluster = await startOwnCluster(bin ?? '')
    folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    if (kind === 'a bucket') {
      s3 = await startS3Server()
      stubS3Settings(s3)
    }
    location = s3 ? `s3://${S3_BUCKET}/wharf` : join(folder, 'archives')
  })

  afterAll(async () => {
    vi.unstubAllEnvs()
    await s3?.stop()
    await rm(folder, { recursive: true, force: true })
    await cluster?.remove()
  })

  const schemas = async (): Promise<unknown> =>
    asSuperuser("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1", 'wharf')

  /** Expects a refusal in one sentence, after which the database is as empty as before. */
  async function expectRefused(answer: Promise<CliResult>, sentence: RegExp): Promise<void> {
    const { code, stdout, stderr } = await answer
    expect({ code: code === 0, stdout }).toEqual({ code: false, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(await schemas()).toEqual([{ nspname: 'information_schema' }, { nspname: 'public' }])
  }

  test('an installation with proven archives is backed up, and lost', async () => {
    await asSuperuser('CREATE DATABASE wharf OWNER wharf TEMPLATE template0')
    const wharf = await start(true, SECRET_KEY)
    await createProject(wharf, 'shop', SCRIPT)
    await wharf.root.post('/projects/shop/stages', { json: { slug: 'draft' } })
    await wharf.root.post('/projects', { json: { slug: 'alone', ownDatabase: true } })
    await applyScript(wharf, 'alone', SCRIPT)
    await repairLogs(wharf.container)
    const { ownDatabase } = await wharf.container.control.prisma.project.findUniqueOrThrow({ where: { slug: 'alone' } })
    databases = new Map([['alone', ownDatabase ?? '']])
    theirs = await createExternalDatabase(SCRIPT, cluster.createDatabase)
    const attach = { address: theirs.owner.href, stages: [{ slug: 'live', schema: 'public' }] }
    expect((await wharf.root.post('/projects', { json: { slug: 'theirs', attach } })).status).toBe(201)
    const request = { projects: [{ slug: 'shop', system: true }, { slug: 'alone' }] }
    const schedule = await makeSchedule(wharf.root, 'shop', {
      name: 'nightly',
      verify: true,
      keep: { last: 1 },
      request,
    })
    scheduleId = schedule.id
    await wharf.root.post(`/schedules/${scheduleId}/run`)
    expect((await untilSettled(wharf, schedule, new Date(), 60_000)).lastRun).toMatchObject({ status: 'succeeded' })
    dumps = await dumpAll()
    // What came after the archive is lost.
    await wharf.root.post('/content/shop/live/item', { json: { name: 'glove' } })
    await createProject(wharf, 'new', SCRIPT)
    await makeSchedule(wharf.root, 'new', { name: 'of the new one' })
    await wharf.root.put('/projects/shop/roles/packer', { json: { content: { read: true } } })
    editor = (await createToken(wharf, 'editor', 'shop')).token
    const variables = {
      ...{ DATABASE_URL: database().url, WHARF_DATA_DIR: wharf.dataDir, WHARF_BACKUP_KEY: BACKUP_KEY },
      ...environment(SECRET_KEY),
    }
    const { code, stderr } = await runCommand(['backup'], { variables })
    expect(code, stderr).toBe(0)
    await wharf.close()
  })

  test('a server that has the projects still is refused, and keeps them', async () => {
    await asSuperuser('CREATE DATABASE trial OWNER wharf TEMPLATE template0')
    const { code, stderr } = await recover([], { DATABASE_URL: urlOf(cluster.url, 'trial') })
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('on this server already') })
    expect(stderr).toContain(`"wharf", "${databases.get('alone')}"`)
    expect(await asSuperuser('SELECT name FROM item ORDER BY id', databases.get('alone'))).toHaveLength(2)
    await asSuperuser('DROP DATABASE trial')
    await loseServer()
  })

  test('a database on which a service runs is refused, with its process', async () => {
    const wharf = await start(false)
    try {
      await vi.waitFor(async () => expect(await database().query('SELECT FROM control.process')).toHaveLength(1))
      const { code, stderr } = await recover()
      expect({ code, stderr }).toEqual({
        ...{ code: 1, stderr: expect.stringMatching(/the service runs on this database \(\S+ \d+\): stop it/) },
      })
    } finally {
      await wharf.close()
    }
    await loseServer()
  })

  test('a wrong key is refused', () =>
    expectRefused(recover(['--quiet'], { WHARF_BACKUP_KEY: 'some other passphrase' }), /made with another key/))

  test('a store without a backup is refused', async () => {
    const empty = s3 ? `s3://${S3_BUCKET}/other` : await mkdtemp(join(folder, 'empty-'))
    await expectRefused(recover([], { WHARF_ARTIFACTS: empty }), /backup/)
  })

  test('a backup that was changed or cut is refused', async () => {
    const store = await createArtifactStore(location)
    const [key = ''] = await store.list('backup-')
    const chunks: Buffer[] = []
    for await (const chunk of store.read(key)) chunks.push(chunk)
    const whole = Buffer.concat(chunks)
    const changed = Buffer.from(whole)
    changed[whole.length - 40] = (changed[whole.length - 40] ?? 0) ^ 1
    const put = async (bytes: Buffer): Promise<void> => {
      const writer = await store.create(key)
      await writer.write(bytes)
      await writer.commit()
    }
    const before = `backup-20260101T000000000Z-${key.slice(-36)}`
    await (await store.create(before)).commit()
    for (const bytes of [changed, whole.subarray(0, whole.length - 1)]) {
      await put(bytes)
      await expectRefused(recover(), new RegExp(`the backup is damaged: .*; the one before it is ${before} `))
    }
    await store.remove(before)
    await put(whole)
    await store.close()
  })

  test('a store that the service would not use afterwards is refused', () =>
    expectRefused(
      runCommand(['recover', s3 ? `s3://${S3_BUCKET}/other` : folder], {
        variables: {
          ...{ DATABASE_URL: database().url, WHARF_DATA_DIR: join(folder, 'new') },
          ...{ WHARF_BACKUP_KEY: BACKUP_KEY, WHARF_ARTIFACTS: location },
        },
      }),
      /WHARF_ARTIFACTS must be/,
    ))

  test('a database that is not empty is refused, with what is there', async () => {
    await asSuperuser('CREATE SCHEMA theirs; CREATE TABLE theirs.invoice ()', 'wharf')
    const { code, stderr } = await recover()
    await asSuperuser('DROP SCHEMA theirs CASCADE', 'wharf')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('tables in the schema "theirs"') })
  })

  test.skipIf(kind !== 'a folder')(
    'a recovery that is killed as it begins keeps the service from starting',
    async () => {
      const variables = {
        DATABASE_URL: database().url,
        WHARF_DATA_DIR: join(folder, 'new'),
        WHARF_BACKUP_KEY: BACKUP_KEY,
      }
      const { child, ended } = spawnWharf(['recover', location], {
        cwd: folder,
        variables: { ...variables, ...environment(NEW_KEY) },
      })
      const said = new Promise<void>((resolve) => {
        child.stderr?.on('data', (text: Buffer) => text.includes('projects, roles') && resolve())
      })
      await Promise.race([said, ended])
      child.kill('SIGKILL')
      await ended
      await expect(start(false)).rejects.toMatchObject({ message: expect.stringContaining('has not ended') })
    },
  )

  test.skipIf(kind !== 'a folder')(
    'a recovery that was interrupted keeps the service from starting and from being backed up, and goes on when it is run again',
    async () => {
      const [archive = ''] = (await readdir(location)).filter((name) => !name.startsWith('backup-'))
      await rename(join(location, archive), join(folder, 'archive'))
      // To read that is a fault of the storage, and not of the archive.
      await mkdir(join(location, archive))
      expect(await recover()).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('the place where archives are kept cannot be used'),
      })
      await expect(start(false)).rejects.toMatchObject({ message: expect.stringContaining('has not ended') })
      const variables = {
        DATABASE_URL: database().url,
        WHARF_DATA_DIR: join(folder, 'new'),
        WHARF_BACKUP_KEY: BACKUP_KEY,
      }
      expect(await runCommand(['backup'], { variables: { ...variables, ...environment(NEW_KEY) } })).toMatchObject({
        ...{ code: 1, stderr: expect.stringContaining('has not ended') },
      })
      await rmdir(join(location, archive))
      await rename(join(folder, 'archive'), join(location, archive))
    },
  )

  test.skipIf(kind !== 'a bucket')('the commands of docs/operations.md bring back what was proven', async () => {
    const { type } = await openTerminal({
      ...{ DATABASE_URL: database().url, WHARF_DATA_DIR: join(folder, 'new'), WHARF_BACKUP_KEY: BACKUP_KEY },
      ...environment(NEW_KEY),
      ...(s3 && s3Settings(s3)),
    })
    const [commands = ''] = await readCommands('operations.md', '### Recovering')
    const ended = type(commands.replaceAll('s3://bucket/wharf', location))
    await expect(ended).rejects.toMatchObject({ code: 3, stdout: expect.stringContaining('shop: live, draft as of') })
    expect(await dumpAll()).toEqual(dumps)
  })

  test.skipIf(kind !== 'a folder')('what was proven is back, and what was not is named', async () => {
    const options = ['--json', '--quiet']
    const answers = await Promise.all([recover(options), recover(options)])
    const [refused, done] = answers.toSorted((a, b) => Number(a.code) - Number(b.code))
    // Of two at once, one does it.
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/another recovery goes on|not empty|this one has/),
    })
    const { code, stdout, stderr } = done ?? answers[0]
    expect(code, stderr).toBe(3)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({
      projects: [
        { project: 'alone', missing: [], problems: [] },
        { project: 'new', archives: [], missing: ['live'] },
        { project: 'shop', missing: [], problems: [] },
      ],
      attached: ['theirs'],
      schedulesTurnedOff: ['of the new one'],
    })
    expect(await dumpAll()).toEqual(dumps)
  })

  test('a database that has an installation is refused, with what is there', async () => {
    const { code, stderr } = await recover()
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/has 4 projects, 1 token, 2 schedules, 1 job:/),
    })
  })

  test('tokens, roles, schedules and their archives work as before', async () => {
    const wharf = await start(true)
    try {
      const asEditor = wharf.root.withToken(editor)
      expect(await asEditor.get('/content/shop/live/item?select=name&order=id')).toMatchObject({
        json: [{ name: 'hat' }, { name: 'scarf' }],
      })
      expect((await asEditor.post('/content/shop/live/item', { json: { name: 'glove' } })).status).toBe(201)
      const roles = await wharf.root.get('/projects/shop/roles')
      expect(roles.text).toContain('packer')
      const schedule = await showSchedule(wharf.root, { id: scheduleId, nextRunAt: null, lastRun: null, runs: [] })
      expect(schedule).toMatchObject({ lastRun: { status: 'succeeded' }, nextRunAt: expect.any(String) })
      const old = await wharf.root.get(`/jobs/${schedule.lastRun?.jobId}/file`)
      expect(old.status).toBe(200)
      expect((await wharf.root.post(`/schedules/${scheduleId}/run`)).status).toBe(202)
      await untilSettled(wharf, schedule, new Date(), 60_000)
      // The new one is proven, and pushes the old one out, as the schedule wants one.
      expect((await wharf.root.get(`/jobs/${schedule.lastRun?.jobId}/file`)).status).toBe(410)
      expect(await exportOf(wharf.root, 'theirs', { system: false })).toContain('"scarf"')
      expect(await exportOf(wharf.root, 'alone', { system: false })).toContain('"scarf"')
    } finally {
      await wharf.close()
    }
  })
})
