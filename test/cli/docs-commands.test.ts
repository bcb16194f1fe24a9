import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { spawnWharf } from '../support/cli/cli.ts'
import { openTerminal } from '../support/cli/guide.ts'
import { createExternalDatabase } from '../support/database/external-database.ts'
import { eventually } from '../support/eventually.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { PROGRAM } from '../support/processes/child.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import { PROCESS_FLAGS } from '../support/processes/node-flags.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { installedPrograms } from '../support/servers/installed-programs.ts'
import { startOwnCluster } from '../support/servers/own-cluster.ts'
import { ROOT_TOKEN } from '../support/service/wharf.ts'

/*
 * The commands in README.md and docs/, as a reader would type them after `npm start`, in an order in which each finds what it
 * needs. What they name that is not here (hosts, tokens, names that another page has taken) is replaced.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const bin = installedPrograms()

/** Blocks that other tests run, or that a machine would have to be set up for, by how they begin. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci && npm start': 'npm.test.ts',
  'PGPASSWORD=$(sed': 'process.test.ts',
  "wharf project:attach --all 'postgres://": 'attach-all.test.ts',
  'export WHARF_ARTIFACTS=s3://': 'drill.test.ts',
  'pg_dumpall --roles-only': 'restored.test.ts',
  'psql --quiet --dbname=postgres': 'restored.test.ts',
  'umask 077\nfor name in': 'docker-files.test.ts holds the composition against its schema',
  'useradd --system': 'deployment.test.ts holds the units against systemd',
  'systemd-run --pipe': 'deployment.test.ts',
  'docker compose --env-file': 'image.test.ts starts the image',
}

/** All blocks of a page in these languages. */
async function blocksOf(page: string, languages: readonly string[] = ['sh', 'crontab']): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
  return blocks.flatMap(([, language = '', block = '']) => (languages.includes(language) ? [block] : []))
}

const ran = new Set<string>()

/** What a reader would have on the way: no terminal is here to ask on. */
const sayYes = (text: string): string =>
  text.replace(/\b(data:import|data:transfer|project:delete|project:detach) (?!.*--(?:yes|dry-run))/g, '$1 --yes ')

const SCRIPT = `CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'hat'), (2, 'scarf')`
const SHOP = `CREATE TABLE album (id int PRIMARY KEY, title text); INSERT INTO album VALUES (1, 'Blue')`

/** The program, called by its name, and as npm calls it. */
const program = (main: string): Readonly<Record<string, string>> => {
  const run = `exec "${process.execPath}" ${PROCESS_FLAGS.join(' ')} "${main}"`
  return {
    wharf: `#!/bin/sh\n${run} "$@"\n`,
    npm: `#!/bin/sh\nfor each; do shift; case "$each" in run|--silent|wharf|--) ;; *) set -- "$@" "$each";; esac; done\n${run} "$@"\n`,
  }
}

type Terminal = Awaited<ReturnType<typeof openTerminal>>

type Run = (page: string, index: number, edit?: (text: string) => string) => Promise<string>

/** As cron does: from no folder of Wharf's, without a home, and with the PATH of the table alone. */
async function runByCron(folder: string, programs: string, run: Run): Promise<void> {
  const path = join(programs, 'wharf-backup')
  await run('docs/operations.md', 2, (text) => {
    const script = text
      .replace('/srv/wharf ', `${folder} `)
      .replace('WHARF_TOKEN=…', `WHARF_TOKEN=${ROOT_TOKEN}`)
      .replace('node dist/main.js', 'wharf')
      .replace('/backups/', `${folder}/backup-`)
    return `cat > ${path} <<'END'\n${script}END\nchmod 700 ${path}`
  })
  await run('docs/operations.md', 3, (text) => {
    const [, command = ''] = /^\S+ \S+ \S+ \S+ \S+ +(.*)$/m.exec(text) ?? []
    const search = [programs, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)
    return `env -i PATH=${search} sh -c '${command.replaceAll('/var/log/', `${folder}/`)}'`
  })
  expect(await readFile(join(folder, 'wharf-backup.log'), 'utf8')).toContain('exported shop')
  expect((await readdir(folder)).filter((name) => /^backup-shop-.*\.jsonl\.gz$/.test(name))).toHaveLength(1)
}

/** As the superuser of a server does, and the owner of the service's log: on a server of one's own, and on the embedded one. */
async function runSql(
  terminal: Terminal,
  server: { readonly superuserUrl: string; readonly port: string },
): Promise<void> {
  const [login = '', reserve = '', log = ''] = await blocksOf('docs/operations.md', ['sql'])
  const psql = (address: string, block: string, text = block): Promise<string> => {
    ran.add(block)
    return terminal.type(`psql -X -q -v ON_ERROR_STOP=1 -d '${address}' <<'END'\n${text}END`)
  }
  // The server of these tests has a login of that name.
  await psql(server.superuserUrl, login, login.replaceAll('wharf', 'operated').replace('…', 'of-it'))
  const own = `DATABASE_URL=postgres://operated:of-it@127.0.0.1:${server.port}/operated WHARF_DATA_DIR=${terminal.folder}/of-own`
  expect(await terminal.type(`${own} wharf project:create any`)).toContain('any')

  const data = join(terminal.folder, '.wharf')
  const { superuserPassword } = JSON.parse(await readFile(join(data, 'postgres.json'), 'utf8'))
  const port = (await readFile(join(data, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[3]
  const embedded = `postgres://postgres:${superuserPassword}@127.0.0.1:${port}/wharf`
  await psql(embedded, reserve)
  expect(await readFile(join(data, 'postgres', 'postgresql.auto.conf'), 'utf8')).toContain(
    "reserved_connections = '70'",
  )
  // Its reference is the id of its last event.
  const logged = 'SELECT stage_id FROM system.transaction GROUP BY 1 ORDER BY count(*) DESC LIMIT 1'
  const id = await terminal.type(`psql -X -A -t -d '${embedded}' -c '${logged}'`)
  expect(await psql(embedded, log, log.replaceAll('<id of the stage>', id.trim()))).toMatch(
    /^ ([\da-f-]{36}) \|[\s\S]* \1 \|/m,
  )
}

/** As who makes media types of a stage's own. */
async function makeMediaTypes(
  { type }: Terminal,
  { dsn, content }: { readonly dsn: string; readonly content: string },
): Promise<void> {
  const [block = ''] = await blocksOf('docs/content.md', ['sql'])
  ran.add(block)
  const artists = "CREATE TABLE artist (name text); INSERT INTO artist VALUES ('Nina');"
  await type(`wharf project:create music`)
  await type(`wharf schema:apply - ${dsn} <<'END'\n${artists}\n${block}END`)
  const get = (path: string, accept: string): Promise<string> =>
    type(`curl --silent '${content}/${path}' --header "Authorization: Bearer $TOKEN" --header 'Accept: ${accept}'`)
  expect(await get('rpc/badge?label=new', 'image/svg+xml')).toContain('<title>new</title>')
  expect(await get('artist', 'text/vcard')).toContain('FN:Nina')
}

test.skipIf(bin === undefined || !isInstalled('curl'))(
  'the commands of README.md and docs/ do what they say',
  { timeout: 300_000 },
  async () => {
    const cluster = await startOwnCluster(bin ?? '')
    onTestFinished(cluster.remove)
    const theirs = await createExternalDatabase(SCRIPT, cluster.createDatabase)
    const receiver = await serveHttp((_, response) => response.writeHead(204).end())
    const programs = await temporaryFolder()
    for (const [name, text] of Object.entries(program(PROGRAM))) {
      await writeFile(join(programs, name), text, { mode: 0o755 })
    }
    const { pathname: database, port, username } = new URL(theirs.owner.href)
    const terminal = await openTerminal({
      PATH: [programs, bin ?? '', process.env.PATH].join(delimiter),
      ...{ PGHOST: '127.0.0.1', PGPORT: port, PGUSER: username, PGPASSWORD: theirs.password },
      ...{ TOKEN: ROOT_TOKEN, ROOT_TOKEN, WHARF_BACKUP_KEY: 'the passphrase of these tests' },
    })
    const cwd = terminal.folder
    await writeFile(join(cwd, 'shop.sql'), SHOP)
    const service = spawnWharf(['start'], {
      cwd,
      variables: {
        ...{ WHARF_PORT: '0', WHARF_LOG_LEVEL: 'error', WHARF_ROOT_TOKEN: ROOT_TOKEN },
        WHARF_WEBHOOK_HOSTS: `*,127.0.0.1:${receiver.port}`,
        ...{ WHARF_SMTP_URL: 'smtp://127.0.0.1:1', WHARF_MAIL_FROM: 'wharf@example.org' },
      },
    })
    const address = join(cwd, '.wharf', 'service.json')
    await eventually(() => readFile(address, 'utf8').catch(() => '')).toContain('url')
    await writeFile(join(cwd, '.wharf', 'root-token'), ROOT_TOKEN, { mode: 0o600 })
    const { host } = new URL(JSON.parse(await readFile(address, 'utf8')).url)
    const asHere = (text: string): string =>
      text
        .replace(/localhost:4000|127\.0\.0\.1:4000|wharf\.example\.org/g, host)
        .replace(/:(?:ROOT_)?TOKEN@/g, `:${ROOT_TOKEN}@`)
        .replace(/postgres:\/\/app@db\.example\/\w+/g, `${theirs.owner.href.replace(`:${theirs.password}`, '')}`)
        .replace('&sslmode=verify-full&sslrootcert=system', '')
        .replace('pg_dump app', `pg_dump --no-owner ${database.slice(1)}`)
        .replace('https://example.org/hooks/wharf', receiver.url)
    const { type } = terminal
    const run: Run = async (page, index, edit = (text) => text) => {
      const block = (await blocksOf(page))[index] ?? ''
      ran.add(block)
      const text = sayYes(asHere(edit(block)))
      return type(text).catch((error: unknown) => {
        throw new Error(`${page}, block ${index}:\n${text}\n${error instanceof Error ? error.message : ''}`)
      })
    }
    const named = (slug: string) => (text: string) =>
      text.replace(/(?<![./\w])shop(?!\.)|(?<=wharf:\/\/|projects\/)shop/g, slug)
    const inProject = (slug: string, text: string): string => `export WHARF_PROJECT=${slug}\n${text}`

    await run('README.md', 1)
    await run('README.md', 2)
    await run('README.md', 3)
    expect(((await stat(join(cwd, 'token'))).mode & 0o777).toString(8)).toBe('600')
    await run('README.md', 4)
    expect(await run('README.md', 5)).toContain('"shop"')
    expect(await run('README.md', 6)).toContain('x-service-ref')

    expect(await run('docs/own-databases.md', 0, named('alone'))).toContain('a database of its own')
    for (const [index, slug] of [
      [0, 'first'],
      [1, 'second'],
    ] as const) {
      await type(`wharf project:create ${slug}`)
      await run('docs/postgres-dumps.md', index, named(slug))
    }
    expect(await run('docs/attached-databases.md', 0, named('theirs'))).toContain('theirs')
    await run('docs/attached-databases.md', 3, named('theirs'))
    await run('docs/attached-databases.md', 1, named('theirs'))

    expect(await run('docs/schedules.md', 0)).toContain('nightly')
    const { id } = JSON.parse(await type('wharf schedule:run nightly --json'))
    expect(await type(`wharf job:watch --quiet ${id}`)).toContain('succeeded')
    for (const slug of ['copy --stage live --stage draft', 'other', 'shop-two'])
      await type(`wharf project:create ${slug}`)
    const lines = (text: string): readonly string[] => text.trimEnd().split('\n')
    await run('docs/command-line.md', 0, (text) => inProject('copy', lines(text).slice(0, -1).join('\n')))
    await run('docs/command-line.md', 0, (text) => inProject('other', lines(text).at(-1) ?? ''))
    await run('docs/command-line.md', 1)
    const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
    await run('docs/command-line.md', 2, (text) => inProject('shop', text.replace('2026-11-20', tomorrow)))
    await run('docs/command-line.md', 3, named('shelf'))
    const dsn = (slug: string): string => `wharf://${slug}:${ROOT_TOKEN}@${host}`
    await type(`wharf profile:add staging ${dsn('copy')}`)
    await run('docs/command-line.md', 4, (text) =>
      text.replace('wharf://shop@wharf.example.org', dsn('shop')).replace('@staging/shop', '@staging/copy'),
    )
    await run('docs/command-line.md', 5)
    await run('docs/schedules.md', 2)
    await run('docs/schedules.md', 1)

    expect(await run('docs/content.md', 0, (text) => text.replace('<the UUID>', 'second'))).toContain('200 OK')
    expect(await run('docs/content.md', 1)).toContain('"Amber')
    await makeMediaTypes(terminal, { dsn: dsn('music'), content: `http://${host}/content/music/live` })
    expect(await run('docs/jobs.md', 0)).toContain('"queued"')
    expect(await run('docs/jobs.md', 1)).toContain('"queued"')
    expect(await run('docs/notifications.md', 0)).toContain('webhook.test')
    await run('docs/notifications.md', 1)

    const sum = await run('docs/archive-format.md', 0)
    expect(await run('docs/archive-format.md', 1)).toContain(sum.slice(0, 64))
    await run('docs/archive-format.md', 2)
    await run('docs/archive-format.md', 3)
    expect(await readFile(join(cwd, 'staging.jsonl'), 'utf8')).toContain('"targetSlug":"shop-staging"')

    expect(await run('docs/operations.md', 4)).toContain('backed up')
    await runByCron(cwd, programs, run)
    expect(await run('docs/schedules.md', 3)).toContain('shop')

    await runSql(terminal, { superuserUrl: cluster.superuserUrl, port })

    service.child.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0, stderr: '' })
  },
)

test('each block of commands is run, or is known to be run elsewhere', async () => {
  const pages = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter(
    // The guides have tests of their own.
    (name) => name.endsWith('.md') && !name.startsWith('guides'),
  )
  const missed: string[] = []
  for (const page of ['README.md', ...pages.map((name) => join('docs', name))]) {
    for (const block of await blocksOf(page, ['sh', 'crontab', 'sql'])) {
      const isElsewhere = Object.keys(ELSEWHERE).some((beginning) => block.startsWith(beginning))
      if (!isElsewhere && !ran.has(block) && ran.size > 0) missed.push(`${page}: ${block}`)
    }
  }
  expect(missed).toEqual([])
})
