import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { exportOf } from '../support/archives/import.ts'
import { eventually } from '../support/eventually.ts'
import { askExport, askImport, jobOf, untilEnded } from '../support/jobs/jobs.ts'
import { startMailServer } from '../support/notifications/smtp-server.ts'
import { makeWebhook } from '../support/notifications/webhooks.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { isRedisInstalled, startRedis } from '../support/servers/redis.ts'
import { S3_BUCKET, s3Settings, startS3Server } from '../support/servers/s3-server.ts'
import { startServiceProcess } from '../support/service/service-process.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

/** What `npm pack` makes of this checkout, unpacked, beside nothing but the packages that it names as its dependencies. */
async function installed(): Promise<string> {
  const folder = await temporaryFolder()
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  const [file = ''] = await readdir(folder)
  await run('tar', ['-xzf', file], { cwd: folder })
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package/package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'package/node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(root, 'node_modules', name), link)
  }
  return join(folder, 'package')
}

test('the npm package runs with nothing but its dependencies, whatever it loads late', async () => {
  const folder = await installed()
  const s3 = await startS3Server()
  onTestFinished(s3.stop)
  const mailServer = await startMailServer()
  onTestFinished(mailServer.close)
  const redis = isRedisInstalled ? await startRedis() : undefined
  onTestFinished(async () => void (await redis?.kill()))
  // Without a DATABASE_URL, it is the embedded PostgreSQL that has to be found.
  const service = await startServiceProcess({
    program: join(folder, 'dist/main.js'),
    databaseUrl: '',
    dataDir: await temporaryFolder(),
    environment: {
      ...{ ...s3Settings(s3), WHARF_ARTIFACTS: `s3://${S3_BUCKET}/archives` },
      ...{ WHARF_SMTP_URL: `smtp://wharf:secret@127.0.0.1:${mailServer.port}`, WHARF_MAIL_FROM: 'wharf@example.org' },
      ...(redis && { REDIS_URL: redis.url }),
    },
  })
  onTestFinished(async () => void (await service.kill('SIGTERM')))
  const client = service.root
  for (const slug of ['shop', 'copy']) expect((await client.post('/projects', { json: { slug } })).status).toBe(201)
  // A CHECK is looked at by PostgreSQL's grammar when it is imported.
  const sql = 'CREATE TABLE item (id int PRIMARY KEY CHECK (id > 0)); INSERT INTO item VALUES (1)'
  const headers = { 'content-type': 'application/sql' }
  expect((await client.post('/projects/shop/stages/live/schema', { headers, body: sql })).status).toBe(200)

  expect(await untilEnded(client, jobOf(await askExport(client, [{ slug: 'shop' }])))).toMatchObject({
    status: 'succeeded',
  })
  const archive = await exportOf(client, 'shop', { system: false })
  const imported = await untilEnded(client, jobOf(await askImport(client, archive, '?targetSlug=copy')))
  expect(imported).toMatchObject({ status: 'succeeded', error: null })
  expect(await exportOf(client, 'copy', { system: false })).toContain('"id"')

  const { id } = await makeWebhook(client, 'mailto:ops@example.org', { kind: 'mail' })
  expect((await client.post(`/webhooks/${id}/test`)).status).toBe(202)
  await eventually(() => mailServer.mails.length).toBe(1)
  expect(await service.kill('SIGTERM'), service.log()).toBe(0)
})

const sourceMap = z.looseObject({ sources: z.array(z.string()) })

test('the licence of each package that a part of is passed on comes with it', async () => {
  const notices = await readFile(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const packages = new Set<string>()
  for (const name of (await readdir(join(root, 'dist'))).filter((name) => name.endsWith('.js.map'))) {
    const { sources } = sourceMap.parse(JSON.parse(await readFile(join(root, 'dist', name), 'utf8')))
    for (const source of sources) {
      const [, found] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? []
      // Those that are not here are what a package was made of itself, where it was published.
      if (found !== undefined && existsSync(join(root, 'node_modules', found, 'package.json'))) packages.add(found)
    }
  }
  // One of the page, which is written without these.
  packages.add('preact')

  expect(packages).toContain('express')
  for (const name of packages) {
    const [notice = ''] = notices.split(/^-{80}$/m).filter((text) => text.startsWith(`\n${name} `))
    expect(notice.length, `the notice of ${name}: ${notice}`).toBeGreaterThan(150)
  }
})
