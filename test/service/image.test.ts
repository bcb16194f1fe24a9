import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { exportOf } from '../support/archives/import.ts'
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { createApiClient } from '../support/http/api-client.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import { newerNode } from '../support/processes/newer-node.ts'
import { ROOT_TOKEN } from '../support/service/wharf.ts'

const run = promisify(execFile)
const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))

const node = newerNode()

/** What keeps it from being built: that takes root, mounts of its own, Node.js 24 and Debian's packages buildah, mmdebstrap and crun. */
const missing = [
  node === undefined ? ['npm ci --prefix test/node-24'] : [],
  process.getuid?.() === 0 ? [] : ['root'],
  spawnSync('unshare', ['--mount', 'true']).status === 0 ? [] : ['leave to mount'],
  ['buildah', 'mmdebstrap', 'crun'].filter((program) => !isInstalled(program)),
].flat()

const why = missing.length === 0 ? '' : ` (left out here, for want of ${missing.join(', ')})`

describe.runIf(missing.length === 0)(`the image${why}`, { timeout: 600_000 }, () => {
  let folder: string
  let container: string
  let database: TestDatabase

  /** What `buildah` is told before its command. */
  const storage = () => ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]

  /** A command in the container, as its own user. */
  const inside = (environment: Readonly<Record<string, string>>, command: readonly string[]): readonly string[] => [
    ...storage(),
    ...['run', '--isolation', 'chroot', '--network', 'host', '--user', 'node'],
    ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...[container, '--', ...command],
  ]

  beforeAll(async () => {
    folder = await mkdtemp('/var/tmp/wharf-image-')
    const { stdout } = await run(pathOf('support/image/build-image.sh'), [folder, node ?? ''])
    container = stdout.trim()
    database = await createTestDatabase()
  }, 600_000)

  afterAll(async () => {
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  test('starts a service by its own entry point, which exports, and ends in order', async () => {
    const { stdout } = await run('buildah', [...storage(), 'inspect', container])
    const { Entrypoint, Cmd, User } = JSON.parse(stdout).Docker.config
    expect(User).toBe('node')
    const port = await findFreePort()
    const environment = {
      ...{
        DATABASE_URL: database.url,
        WHARF_ROOT_TOKEN: ROOT_TOKEN,
        WHARF_SECRET_KEY: 'the secret key of the tests of the image',
      },
      ...{ WHARF_PORT: String(port), WHARF_HOST: '127.0.0.1' },
    }
    const child = spawn('buildah', inside(environment, [...Entrypoint, ...Cmd]), { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
    const ended = once(child, 'exit')
    const root = createApiClient(`http://127.0.0.1:${port}`, ROOT_TOKEN)
    await eventually(async () => (await root.get('/readyz').catch(() => ({ status: 0 }))).status, 120_000).toBe(200)
    expect((await root.post('/projects', { json: { slug: 'shop' } })).status).toBe(201)
    expect(await exportOf(root, 'shop')).toContain('"archive"')
    const { stdout: found } = await run('pgrep', ['--newest', '--full', 'node dist/main.js start'])
    process.kill(Number(found.trim()), 'SIGTERM')
    expect(await ended, output).toEqual([0, null])
  })
})
