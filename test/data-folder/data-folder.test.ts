import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDataFolder } from '../../src/data-folder/lock.ts'
import { ownIdentity } from '../../src/data-folder/process-identity.ts'
import { readOrCreateSecret } from '../../src/data-folder/secrets.ts'
import { readServiceAddress, removeServiceAddress, writeServiceAddress } from '../../src/data-folder/service-address.ts'
import { createFileAtomically, writeFileAtomically } from '../../src/lib/atomic-file.ts'
import { endedPid, runScript, temporaryFolder } from '../support/processes/processes.ts'

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

const SINCE = '2026-01-02T03:04:05.678Z'
const STALE_ID = '3b0c8f5e-7a55-4f0e-9a39-0d2f3e8f9a11'
const CRASHED_CLEARER_ID = '7f7a1f0e-2f0b-4d3c-8b1e-5a4c3d2e1f00'

const writeLock = (path: string, lock: { pid: number; birth: string; id: string }): Promise<void> =>
  writeFile(path, JSON.stringify({ ...lock, since: SINCE }))

test('makes the data folder, with the folders above it, so that PostgreSQL may pass through', async () => {
  const dataDir = join(await temporaryFolder(), 'above', 'data')
  await lockDataFolder(dataDir)
  expect(await modeOf(dataDir)).toBe('755')
})

test('a second lock is refused and says who has the first one', async () => {
  const dataDir = await temporaryFolder()
  await lockDataFolder(dataDir)
  await writeServiceAddress(dataDir, { url: 'http://127.0.0.1:4321', pid: process.pid, startedAt: SINCE })
  const { since } = JSON.parse(await readFile(join(dataDir, 'lock.json'), 'utf8'))
  await expect(lockDataFolder(dataDir)).rejects.toMatchObject({
    code: 'DATA_FOLDER_IN_USE',
    message:
      `the data folder ${dataDir} is in use by process ${process.pid}, since ${since}, at http://127.0.0.1:4321: ` +
      'stop that one, or set WHARF_DATA_DIR to another folder',
  })
})

test('a refused lock does not show the address that an earlier service left behind', async () => {
  const dataDir = await temporaryFolder()
  await lockDataFolder(dataDir)
  await writeServiceAddress(dataDir, { url: 'http://127.0.0.1:4321', pid: process.pid + 1, startedAt: SINCE })
  await expect(lockDataFolder(dataDir)).rejects.toThrow(/in use by process \d+, since [^,]+: stop that one/)
})

test('a lock that was given free can be taken again, and giving it free twice harms nobody', async () => {
  const dataDir = await temporaryFolder()
  const first = await lockDataFolder(dataDir)
  await first.release()
  const second = await lockDataFolder(dataDir)
  await first.release()
  await expect(lockDataFolder(dataDir)).rejects.toMatchObject({ code: 'DATA_FOLDER_IN_USE' })
  await second.release()
  expect(await readdir(dataDir)).toEqual([])
})

test('a lock file that is not one is left alone, and named', async () => {
  const dataDir = await temporaryFolder()
  await writeFile(join(dataDir, 'lock.json'), 'precious')
  await expect(lockDataFolder(dataDir)).rejects.toThrow(`the lock file ${join(dataDir, 'lock.json')} is not one of`)
  expect(await readFile(join(dataDir, 'lock.json'), 'utf8')).toBe('precious')
})

const staleOwners = [
  { owner: 'a process that ended', identity: async () => ({ pid: await endedPid(), birth: 'once' }) },
  {
    owner: 'a process whose pid is now that of another one',
    identity: async () => ({ pid: process.pid, birth: (await ownIdentity()).birth.replace(/\d+$/, '1') }),
  },
  {
    owner: 'a process of the time before the machine was rebooted',
    identity: async () => ({ pid: process.pid, birth: (await ownIdentity()).birth.replace(/^\S+/, 'another-boot') }),
  },
]

test.each(staleOwners)('takes over the lock of $owner', async ({ identity }) => {
  const dataDir = await temporaryFolder()
  await writeLock(join(dataDir, 'lock.json'), { ...(await identity()), id: STALE_ID })
  await lockDataFolder(dataDir)
  expect(JSON.parse(await readFile(join(dataDir, 'lock.json'), 'utf8'))).toMatchObject(await ownIdentity())
  expect(await readdir(dataDir)).toEqual(['lock.json'])
})

test('takes over the lock of a service that was killed', async () => {
  const dataDir = await temporaryFolder()
  const service = await runScript('run-data-folder-lock', { args: [dataDir] })
  await service.nextLine()
  service.say('go')
  expect(await service.nextLine()).toBe('locked')
  await expect(lockDataFolder(dataDir)).rejects.toThrow(`in use by process ${service.pid},`)
  await service.kill('SIGKILL')
  await expect(lockDataFolder(dataDir)).resolves.toBeDefined()
})

const beginnings = [
  { beginning: 'a folder without a lock', files: [] },
  { beginning: 'a stale lock', files: [{ name: 'lock.json', id: STALE_ID }] },
  {
    beginning: 'a stale lock whose clearing was broken off by a crash',
    files: [
      { name: 'lock.json', id: STALE_ID },
      { name: `lock.json.${STALE_ID}`, id: CRASHED_CLEARER_ID },
    ],
  },
]

test.each(beginnings)('of many starters at one moment exactly one gets $beginning', async ({ files }) => {
  const parent = await temporaryFolder()
  for (let round = 0; round < 25; round++) {
    const dataDir = join(parent, String(round))
    await mkdir(dataDir)
    for (const { name, id } of files) await writeLock(join(dataDir, name), { pid: process.pid, birth: 'earlier', id })
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => lockDataFolder(dataDir)))
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []))
    expect(refused, `round ${round}`).toEqual(Array(9).fill('DATA_FOLDER_IN_USE'))
    expect(await readdir(dataDir), `round ${round}`).toEqual(['lock.json'])
  }
})

test('of ten processes that find a stale lock at one moment exactly one gets it', async () => {
  const dataDir = await temporaryFolder()
  await writeLock(join(dataDir, 'lock.json'), { pid: process.pid, birth: 'earlier', id: STALE_ID })
  const starters = await Promise.all(
    Array.from({ length: 10 }, () => runScript('run-data-folder-lock', { args: [dataDir] })),
  )
  await Promise.all(starters.map((starter) => starter.nextLine()))
  for (const starter of starters) starter.say('go')
  const outcomes = await Promise.all(starters.map((starter) => starter.nextLine()))
  expect(outcomes.sort()).toEqual([...Array(9).fill('DATA_FOLDER_IN_USE'), 'locked'])
})

test('a secret is 32 random bytes, the same ones ever after, for the owner only', async () => {
  const dataDir = await temporaryFolder()
  const secret = await readOrCreateSecret(dataDir, 'root-token')
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  expect(await readOrCreateSecret(dataDir, 'root-token')).toBe(secret)
  expect(await readOrCreateSecret(dataDir, 'secret-key')).not.toBe(secret)
  expect(await modeOf(join(dataDir, 'root-token'))).toBe('600')
  expect((await readdir(dataDir)).sort()).toEqual(['root-token', 'secret-key'])
})

test('all who ask for a new secret at one moment get the same one', async () => {
  const dataDir = await temporaryFolder()
  const secrets = await Promise.all(Array.from({ length: 20 }, () => readOrCreateSecret(dataDir, 'root-token')))
  expect(new Set(secrets).size).toBe(1)
})

test('an empty secret file is refused rather than replaced', async () => {
  const dataDir = await temporaryFolder()
  await writeFile(join(dataDir, 'secret-key'), '\n')
  await expect(readOrCreateSecret(dataDir, 'secret-key')).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('the address of the service is there from its writing to its removal', async () => {
  const dataDir = await temporaryFolder()
  const address = { url: 'http://127.0.0.1:4000', pid: 42, startedAt: SINCE }
  expect(await readServiceAddress(dataDir)).toBeUndefined()
  await writeServiceAddress(dataDir, address)
  expect(await readServiceAddress(dataDir)).toEqual(address)
  await removeServiceAddress(dataDir)
  await removeServiceAddress(dataDir)
  expect(await readServiceAddress(dataDir)).toBeUndefined()
})

test.each(['', '{"url":', '{}', '{"url":"http://127.0.0.1:4000","pid":"42"}', 'null'])(
  'an address file that holds %j counts as none',
  async (content) => {
    const dataDir = await temporaryFolder()
    await writeFile(join(dataDir, 'service.json'), content)
    expect(await readServiceAddress(dataDir)).toBeUndefined()
  },
)

test('writing a file replaces its content and its mode, and leaves nothing else', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'file')
  await writeFileAtomically(path, 'old', 0o600)
  await writeFileAtomically(path, 'new', 0o666)
  expect(await readFile(path, 'utf8')).toBe('new')
  expect(await modeOf(path)).toBe('666')
  expect(await readdir(folder)).toEqual(['file'])
})

test('writing a file that fails leaves nothing behind', async () => {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'taken'))
  await expect(writeFileAtomically(join(folder, 'taken'), 'text', 0o600)).rejects.toMatchObject({ code: 'EISDIR' })
  expect(await readdir(folder)).toEqual(['taken'])
})

test('making a file leaves one that is there as it is', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'file')
  expect(await createFileAtomically(path, 'first', 0o600)).toBe(true)
  expect(await createFileAtomically(path, 'second', 0o600)).toBe(false)
  expect(await readFile(path, 'utf8')).toBe('first')
  expect(await readdir(folder)).toEqual(['file'])
})
