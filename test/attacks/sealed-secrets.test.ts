import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSeal, SealBroken } from '../../src/lib/seal.ts'
import { openAddress, toAddressData } from '../../src/notifications/webhook-address.ts'
import { readServer, toServerData } from '../../src/projects/attached/attached-server.ts'
import { readAttachment, toAttachmentData } from '../../src/projects/attached/attachment.ts'
import { spawnWharf } from '../support/cli/cli.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const KEYS = ['first', 'second', 'third'].map((name) => `${name}-secret-key-with-more-than-32-characters`)
const [FIRST = '', SECOND = '', THIRD = ''] = KEYS

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SECRET_KEY: FIRST } })
  for (const slug of ['mine', 'theirs']) await wharf.root.post('/projects', { json: { slug } })
  await recordAttached()
})

afterAll(() => wharf.close())

/** As values were sealed before they had a header. */
function sealAsBefore(secret: string, text: string): Buffer {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'wharf seal', 32))
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

const sealedOf = async (slug: string): Promise<{ id: string; sealed: Buffer }> => {
  const [row] = await wharf.database.query<{ id: string; sealed: Buffer }>(
    'SELECT id, sealed_password AS sealed FROM control.project WHERE slug = $1',
    [slug],
  )
  if (!row) throw new Error(`no project ${slug}`)
  return row
}

const setSealed = (slug: string, sealed: Uint8Array) =>
  wharf.database.query('UPDATE control.project SET sealed_password = $2 WHERE slug = $1', [slug, sealed])

const ADDRESS = {
  address: 'postgres://app:marked@db.example/app',
  isListed: true,
  isSecondChoice: false,
  identity: null,
}

const SERVER = {
  ...{ address: 'postgres://app@db.example:5432/app', login: 'app' },
  reached: { address: ADDRESS.address, isListed: true, isSecondChoice: false, database: 'app' },
}

/** As it is recorded, of a database that nobody has to reach. */
async function recordAttached(): Promise<void> {
  const { control, seal } = wharf.container
  const { id } = await control.prisma.project.create({ data: { slug: 'attached' } })
  const data = toAttachmentData(seal, id, { ...ADDRESS, name: 'postgres://app@db.example:5432/app', login: 'app' })
  await control.prisma.attachment.create({ data: { projectId: id, ...data } })
  const server = { name: 'many', prefix: '', ...toServerData(seal, id, SERVER) }
  await control.prisma.attachedServer.create({ data: { id, ...server } })
  await control.prisma.webhook.create({ data: { id, name: 'pager', ...toAddressData(seal, id, HOOK) } })
}

const HOOK = { url: 'https://example.org/hidden', secret: 'whsec_hidden' }

/** Starts another process of the service with these keys, and stops it. */
async function startWith(current: string, previous = ''): Promise<void> {
  const environment = { WHARF_SECRET_KEY: current, WHARF_SECRET_KEY_PREVIOUS: previous }
  const other = await startWharf({ beside: wharf, environment })
  const { id, sealed } = await sealedOf('mine')
  const { seal, control } = other.container
  expect(seal.unseal(sealed, `project ${id}`)).toMatch(/^[\w-]{43}$/)
  const attached = await control.prisma.project.findUniqueOrThrow({ where: { slug: 'attached' } })
  expect(await readAttachment(control.prisma, seal, attached)).toMatchObject(ADDRESS)
  expect(await readServer(control.prisma, seal, 'many')).toMatchObject(SERVER)
  const [hook] = await control.prisma.webhook.findMany()
  expect(hook && openAddress(seal, hook.id, hook.sealedAddress)).toEqual(HOOK)
  await other.close()
}

test("puts another project's password into the row of one's own", async () => {
  const { id, sealed } = await sealedOf('mine')
  const theirs = await sealedOf('theirs')
  const { seal } = wharf.container
  expect(() => seal.unseal(theirs.sealed, `project ${id}`)).toThrow(SealBroken)
  expect(() => seal.unseal(sealed, `schedule ${id}`)).toThrow(SealBroken)
  expect(seal.unseal(sealed, `project ${id}`)).toMatch(/^[\w-]{43}$/)
})

test('puts a value of the form before, which names no row, into the row of another', async () => {
  const { id } = await sealedOf('mine')
  const { seal } = wharf.container
  const before = sealAsBefore(FIRST, 'a password')
  expect(() => seal.unseal(before, `project ${id}`)).toThrow(SealBroken)
  expect(seal.unsealEarlier(before, `project ${id}`)).toBe('a password')
})

test('changes a single byte of a sealed value', () => {
  const seal = createSeal(FIRST)
  const sealed = seal.seal('a secret', 'project 1')
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = sealed.slice()
    changed[index] = (changed[index] ?? 0) ^ 1
    expect(() => seal.unseal(changed, 'project 1')).toThrow(SealBroken)
  }
  expect(() => seal.unseal(sealed.slice(0, 20), 'project 1')).toThrow(SealBroken)
  expect(seal.unseal(sealed, 'project 1')).toBe('a secret')
})

test.each(['start', 'api', 'worker', 'project:list'])(
  'wharf %s with a wrong key ends at once, and says so',
  async (command) => {
    const cwd = await temporaryFolder()
    const environment = { DATABASE_URL: wharf.database.url, WHARF_DATA_DIR: join(cwd, 'data'), WHARF_PORT: '0' }
    const wrong = { WHARF_SECRET_KEY: SECOND }
    const [configured, made] = await Promise.all(
      [wrong, {}].map((key) => spawnWharf([command], { cwd, variables: { ...environment, ...key } }).ended),
    )
    const says = `is not the key with which the secrets of this database were encrypted: that of a project was encrypted with the key ${createSeal(FIRST).keyId}`
    expect(configured).toMatchObject({ code: 2, stderr: expect.stringContaining(`WHARF_SECRET_KEY ${says}`) })
    const file = join(cwd, 'data', 'secret-key')
    expect(made).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/there is no secret key, and \d+ stored secrets: /),
    })
    expect(made?.stderr).toContain(`or put the file ${file} back`)
    // Another key would open nothing, and hide that the right one is missing.
    expect(existsSync(file)).toBe(false)
  },
)

test('a service does not start with a wrong key, and says so', async () => {
  const start = startWharf({ beside: wharf, environment: { WHARF_SECRET_KEY: SECOND } })
  await expect(start).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    faults: [
      {
        detail: expect.stringContaining(
          `that of a project was encrypted with the key ${createSeal(FIRST).keyId}, and this one is ${createSeal(SECOND).keyId}`,
        ),
      },
    ],
  })
})

test('the key is changed by a start with both, and the previous one is not needed afterwards', async () => {
  const before = await sealedOf('mine')
  await startWith(SECOND, FIRST)
  const after = await sealedOf('mine')
  expect(after.sealed).not.toEqual(before.sealed)
  await startWith(SECOND)
  await Promise.all([startWith(FIRST, SECOND), startWith(FIRST, `${THIRD}, ${SECOND}`)])
  await startWith(FIRST)
})

test('what was sealed before values named their key is sealed again', async () => {
  const { id, sealed } = await sealedOf('mine')
  const password = wharf.container.seal.unseal(sealed, `project ${id}`)
  await setSealed('mine', sealAsBefore(FIRST, password))
  await startWith(FIRST)
  const again = await sealedOf('mine')
  expect(again.sealed.subarray(0, 12)).toEqual(Buffer.from(createSeal(FIRST).header))
  expect(wharf.container.seal.unseal(again.sealed, `project ${id}`)).toBe(password)
})

test('a wrong key is found by values of the form before, too', async () => {
  const { sealed } = await sealedOf('theirs')
  await setSealed('theirs', sealAsBefore(SECOND, 'password'))
  await expect(startWith(FIRST)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  await setSealed('theirs', sealed)
  await startWith(FIRST)
})

test('the key of the data folder is changed by giving its file another name, and the start warns where others may read it', async () => {
  const own = await startWharf()
  try {
    await own.root.post('/projects', { json: { slug: 'shop' } })
    const keyFile = join(own.dataDir, 'secret-key')
    await chmod(keyFile, 0o644)
    const first = await readFile(keyFile, 'utf8')
    await rename(keyFile, `${keyFile}-previous`)
    const second = await startWharf({ beside: own })
    expect((await second.root.get('/content/shop/live')).status).toBe(200)
    expect(second.log()).toContain(`${keyFile}-previous is open to others: run chmod go-rwx on it`)
    await second.close()
    await rm(`${keyFile}-previous`)
    const third = await startWharf({ beside: own })
    expect((await third.root.get('/content/shop/live')).status).toBe(200)
    await third.close()
    expect(await readFile(keyFile, 'utf8')).not.toBe(first)
  } finally {
    await own.close()
  }
})
