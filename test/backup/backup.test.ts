import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unpack } from '../../src/archive/unpack.ts'
import { backupKey } from '../../src/backup/backup-key.ts'
import { chooseBackup } from '../../src/backup/read-backup.ts'
import { openSealed } from '../../src/backup/sealed-stream.ts'
import { backUpIfDue } from '../../src/backup/start-backups.ts'
import { sweepJobs } from '../../src/jobs/sweep.ts'
import { JOB_TIMINGS } from '../../src/jobs/timings.ts'
import { runCommand } from '../support/cli/cli.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf } from '../support/jobs/jobs.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { createProject } from '../support/service/projects.ts'
import { SECRET_KEY } from '../support/service/service-process.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const BACKUP_KEY = 'the key of the backups of the tests'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SECRET_KEY: SECRET_KEY } })
  await createProject(wharf, 'shop', 'CREATE TABLE item (name text)')
  await wharf.member('shop', 'admin')
  await makeSchedule(wharf.root, 'shop')
})
afterAll(() => wharf?.close())

const variables = () => ({
  DATABASE_URL: wharf.database.url,
  WHARF_DATA_DIR: wharf.dataDir,
  WHARF_SECRET_KEY: SECRET_KEY,
  WHARF_BACKUP_KEY: BACKUP_KEY,
  WHARF_BACKUP_KEEP: '2',
})

/** Writes a backup by hand. @returns its name. */
async function backUp(): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['backup', '--json'], { variables: variables() })
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout).backup
}

test('with another secret key, no backup is written, and one sentence says what to do', async () => {
  const before = await backups()
  const { code, stderr } = await runCommand(['backup'], {
    variables: { ...variables(), WHARF_SECRET_KEY: 'another-secret-key-with-more-than-32-characters' },
  })
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^error: the configuration is not usable \(CONFIG_INVALID\)\n {2}WHARF_SECRET_KEY does not open 1 of 1 stored secret: .+\n$/,
    ),
  })
  expect(await backups()).toEqual(before)
})

const backups = async (): Promise<readonly string[]> => {
  const names = await readdir(join(wharf.dataDir, 'artifacts'))
  return names.filter((name) => name.startsWith('backup-')).toSorted()
}

const plan = { passphrase: BACKUP_KEY, keep: 2, cron: '@daily' }

test('a backup holds projects, roles, tokens and schedules, and secrets so that they can be sealed again', async () => {
  const key = await backUp()
  const opened = await text(unpack(openSealed(wharf.container.artifacts.read(key), BACKUP_KEY)))
  const [header, ...rows] = opened
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(header).toMatchObject({ format: 1, version: '1.2.3' })
  const tables = new Set(rows.map(({ table }) => table))
  expect([...tables]).toEqual(expect.arrayContaining(['project', 'stage', 'role', 'token', 'membership', 'schedule']))
  const project = rows.find(({ table }) => table === 'project')
  expect(project.row).toMatchObject({ slug: 'shop' })
  expect(project.row).not.toHaveProperty('sealed_password')
  const { prisma } = wharf.container.control
  const { id, sealedPassword } = await prisma.project.findUniqueOrThrow({ where: { slug: 'shop' } })
  expect(project.secret).toBe(wharf.container.seal.unseal(sealedPassword ?? new Uint8Array(), `project ${id}`))
})

test('nothing of a backup can be read in the store', async () => {
  const bytes = await text(wharf.container.artifacts.read(await backUp()))
  expect(bytes).not.toContain('shop')
})

test('as many backups are kept as are wanted, and those of other installations stay', async () => {
  const { artifacts } = wharf.container
  const foreign = backupKey(new Date(0), '00000000-0000-4000-8000-000000000000')
  const writer = await artifacts.create(foreign)
  await writer.commit()
  for (let count = 0; count < 3; count += 1) await backUp()
  const kept = await backups()
  expect(kept).toHaveLength(3)
  expect(kept).toContain(foreign)
  await artifacts.remove(foreign)
})

test('a backup of a time that has not come yet keeps none from being written, or kept, or recovered', async () => {
  const { artifacts, control } = wharf.container
  const { id } = await control.prisma.installation.findFirstOrThrow()
  const ahead = new Date(Date.now() + 400 * 86_400_000)
  const key = backupKey(ahead, id)
  await (await artifacts.create(key)).commit()
  await control.prisma.backup.deleteMany()
  await control.prisma.backup.create({ data: { key, beganAt: ahead, bytes: 1 } })
  const written = await backUpIfDue(wharf.container, { ...plan, keep: 1 })
  expect(written).toMatchObject({ bytes: expect.any(Number) })
  expect(await backups()).toEqual(expect.arrayContaining([written?.key, key]))
  await expect(chooseBackup(artifacts, 'here', undefined)).rejects.toMatchObject({
    ...{ code: 'WRONG_USE', message: expect.stringContaining(`${key}, ${written?.key}`) },
  })
  await artifacts.remove(key)
  await control.prisma.backup.deleteMany({ where: { key } })
  expect(await chooseBackup(artifacts, 'here', undefined)).toMatchObject({ key: written?.key })
})

test('no sweep removes backups', async () => {
  await backUp()
  const before = await backups()
  await sweepJobs(wharf.container, JOB_TIMINGS)
  await wharf.container.artifacts.sweep({ olderThan: new Date(Date.now() + 86_400_000), isUnderWay: async () => false })
  expect(await backups()).toEqual(before)
})

test('of several processes that find a backup due, one writes it, and none until the next is due', async () => {
  const { container } = wharf
  await container.control.prisma.backup.deleteMany()
  const written = await Promise.all([1, 2, 3].map(() => backUpIfDue(container, plan)))
  expect(written.filter((backup) => backup !== undefined)).toHaveLength(1)
  expect(await backUpIfDue(container, plan)).toBeUndefined()
  await container.control.prisma.$executeRaw`UPDATE control.backup SET began_at = began_at - interval '1 day'`
  expect(await backUpIfDue(container, plan)).toMatchObject({ bytes: expect.any(Number) })
})

test('a backup follows an archive that was proven, and stays until the next one', async () => {
  const { container } = wharf
  const { prisma } = container.control
  await prisma.backup.deleteMany()
  const regular = await backUpIfDue(container, { ...plan, keep: 10 })
  const job = jobOf(await askExport(wharf.root, [{ slug: 'shop' }]))
  const age = () => prisma.$executeRaw`UPDATE control.backup SET began_at = began_at - interval '2 minutes'`
  const prove = (id: string) =>
    prisma.artifact.create({
      data: { id, jobId: job.id, kind: 'output', key: id, state: 'ready', provenAt: new Date() },
    })
  await age()
  expect(await backUpIfDue(container, plan)).toBeUndefined()
  await prove('00000000-0000-4000-8000-000000000001')
  const first = await backUpIfDue(container, { ...plan, keep: 10 })
  expect(await backUpIfDue(container, plan)).toBeUndefined()
  await age()
  await prove('00000000-0000-4000-8000-000000000002')
  const second = await backUpIfDue(container, { ...plan, keep: 10 })
  expect(second?.removed).toEqual([first?.key])
  expect(await backups()).toEqual(expect.arrayContaining([regular?.key, second?.key]))
  expect((await backUpIfDue(container, { ...plan, cron: '* * * * *' }))?.removed).toContain(second?.key)
  await prisma.artifact.deleteMany({ where: { jobId: job.id } })
})

test('a backup that failed leaves nothing, and is not tried again at once', async () => {
  const { container } = wharf
  await container.control.prisma.backup.deleteMany()
  const before = await readdir(join(wharf.dataDir, 'artifacts'))
  const full = { ...container.artifacts, create: () => Promise.reject(new Error('no room')) }
  await expect(backUpIfDue({ ...container, artifacts: full }, plan)).rejects.toThrow('no room')
  expect(await backUpIfDue(container, plan)).toBeUndefined()
  expect(await readdir(join(wharf.dataDir, 'artifacts'))).toEqual(before)
  await container.control.prisma.$executeRaw`UPDATE control.backup SET began_at = began_at - interval '11 minutes'`
  expect(await backUpIfDue(container, plan)).toMatchObject({ bytes: expect.any(Number) })
})

test('a worker writes backups by itself, and metrics and doctor say of when the last one is', async () => {
  const { prisma } = wharf.container.control
  await prisma.backup.deleteMany()
  const environment = { WHARF_SECRET_KEY: SECRET_KEY, WHARF_BACKUP_KEY: BACKUP_KEY }
  const worker = await startWharf({ beside: wharf, worker: true, environment })
  try {
    await eventually(async () => expect(await prisma.backup.count({ where: { bytes: { not: null } } })).toBe(1))
  } finally {
    await worker.close()
  }
  const { beganAt } = await prisma.backup.findFirstOrThrow()
  const metrics = await wharf.root.get('/metrics')
  expect(metrics.text).toContain(`wharf_backup_last_success_timestamp_seconds ${beganAt.getTime() / 1_000}`)
  const said = async () => (await runCommand(['doctor'], { variables: variables() })).stdout
  expect(await said()).toMatch(/^ok +backup of Wharf itself +the last one is of/m)
  await prisma.$executeRaw`UPDATE control.backup SET began_at = began_at - interval '3 days'`
  expect(await said()).toMatch(/^fault +backup of Wharf itself +.*two have been due since/m)
})

test('a cron that is none is refused at the start', async () => {
  const environment = { WHARF_SECRET_KEY: SECRET_KEY, WHARF_BACKUP_KEY: BACKUP_KEY, WHARF_BACKUP_CRON: 'sometimes' }
  await expect(startWharf({ beside: wharf, worker: true, environment })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    faults: [{ detail: expect.stringContaining('WHARF_BACKUP_CRON') }],
  })
})

test('without a key nothing is written, and the command says what is missing', async () => {
  const { WHARF_BACKUP_KEY: _, ...others } = variables()
  const { code, stderr } = await runCommand(['backup'], { variables: others })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('WHARF_BACKUP_KEY') })
})
