import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../../support/cli/cli.ts'
import { dsnOf } from '../../support/cli/dsn.ts'
import { askSchedule, makeSchedule, runWhenDue, type SeenSchedule, showSchedule } from '../../support/jobs/schedules.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { type ServerOfMany, startServerOfMany } from '../../support/servers/server-of-many.ts'
import { createProject } from '../../support/service/projects.ts'
import { createToken } from '../../support/service/tokens.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

const programs = installedPrograms()

const byPattern = (...patterns: readonly string[]) => ({
  request: { patterns: patterns.map((pattern) => ({ pattern })) },
})

describe.runIf(programs !== undefined)('a schedule whose projects are a pattern', () => {
  let many: ServerOfMany
  let wharf: TestWharf

  beforeAll(async () => {
    many = await startServerOfMany(programs ?? '')
    for (const name of ['shop-a', 'shop-b', 'Shop C', 'other', 'shop-hidden']) await many.makeDatabase(name)
    await many.run('REVOKE CONNECT ON DATABASE "shop-hidden" FROM PUBLIC')
    wharf = await startWharf({ worker: true, environment: { WHARF_TRANSFER_HOSTS: many.address.host } })
    const { code } = await cli('project:attach', '--all', `${many.address.href}/?exclude=postgres`, '--name', 'many')
    expect(code).toBe(1)
  })
  afterAll(async () => {
    await wharf?.close()
    await many?.remove()
  })

  const cli = (...args: readonly string[]) => runCommand([...args, '--server', dsnOf(wharf)])

  /** Lets it run, and says what came of it. */
  async function run(schedule: SeenSchedule) {
    const { lastRun } = await runWhenDue(wharf, schedule)
    const { status, error, matched } = lastRun as Record<string, unknown>
    return { status, error, matched, jobId: lastRun?.jobId ?? '' }
  }

  /** The projects and stages of an archive, in its order. */
  async function archived(jobId: string): Promise<readonly string[]> {
    const { status, bytes } = await wharf.root.get(`/jobs/${jobId}/file`)
    expect(status).toBe(200)
    const found = gunzipSync(bytes)
      .toString()
      .matchAll(/^\{"(project|stage)":\{"slug":"([^"]+)"/gm)
    return [...found].map(([, kind, slug]) => (kind === 'stage' ? `/${slug}` : `${slug}`))
  }

  const HIDDEN = {
    ...{ server: 'many', database: 'shop-hidden' },
    reason: 'the login may not connect to it: GRANT CONNECT ON DATABASE "shop-hidden" TO "backup"',
  }

  test('has new databases in its next archive, does without those that are gone, and says both', async () => {
    const created = await cli(
      'schedule:create',
      '--name',
      'nightly',
      '--cron',
      '@daily',
      '--project',
      'shop-*',
      '--json',
    )
    expect(created).toMatchObject({ code: 0, stderr: '' })
    const schedule = JSON.parse(created.stdout) as SeenSchedule
    const first = await run(schedule)
    expect(first).toMatchObject({
      status: 'succeeded',
      matched: { newProjects: [], goneProjects: [], refused: [HIDDEN] },
    })
    expect(await archived(first.jobId)).toEqual(['shop-a', '/live', 'shop-b', '/live', 'shop-c', '/live'])

    await many.run('DROP DATABASE "shop-b" WITH (FORCE)')
    await many.makeDatabase('shop-new')
    await many.run('CREATE SCHEMA late; CREATE TABLE late.t (n int)', 'shop-a')
    await cli('project:detach', 'shop-c', '--yes')
    const second = await run(schedule)
    expect(second).toMatchObject({
      status: 'succeeded',
      matched: {
        newProjects: ['shop-new'],
        goneProjects: [
          { project: 'shop-b', stage: null, gone: 'database' },
          { project: 'shop-c', stage: null, gone: 'project' },
        ],
        refused: [HIDDEN],
      },
    })
    expect(await archived(second.jobId)).toEqual(['shop-a', '/live', '/late', 'shop-new', '/live'])
    // What there was when it was made is not lost with what is gone.
    expect(await archived(first.jobId)).toContain('shop-c')

    const shown = (await cli('schedule:show', schedule.id)).stdout
    expect(shown).toMatch(/\n {2}what +export of shop-\*\n/)
    const gone = 'gone: shop-b (its database is not there any more; project:detach forgets it)'
    expect(shown).toContain(`new: shop-new; ${gone}; gone: shop-c (there is no such project any more)`)
    expect((await cli('schedule:list')).stderr).toContain(`warning: the last successful run of nightly: ${gone}\n`)
    expect((await cli('job:show', second.jobId)).stderr).toContain(`new: shop-new\n${gone}\n`)
    expect(wharf.log()).toContain('what a schedule would export is gone')
    const metrics = (await wharf.root.get('/metrics')).text
    expect(metrics).toContain(`wharf_schedule_last_gone{schedule="${schedule.id}"} 3\n`)

    await cli('project:detach', 'shop-b', '--yes')
    await many.run('DROP SCHEMA late CASCADE', 'shop-a')
    const third = await run(schedule)
    expect(third.matched).toMatchObject({
      newProjects: [],
      goneProjects: [{ project: 'shop-a', stage: 'late', gone: 'schema' }],
    })
    expect(await archived(third.jobId)).toEqual(['shop-a', '/live', 'shop-new', '/live'])
    expect((await runCommand(['stage:detach', 'late', dsnOf(wharf, 'shop-a'), '--yes'])).code).toBe(0)
  })

  test('fails where a database may be there and cannot be read, and names it', async () => {
    const schedule = await makeSchedule(wharf.root, 'closed', byPattern('shop-*'))
    await many.run('REVOKE CONNECT ON DATABASE "shop-new" FROM PUBLIC')
    // Sessions that there are go on.
    await wharf.container.attached.closeAll()
    const failed = await run(schedule)
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'ATTACHED_FAILED' } })
    expect((failed.error as { detail: string }).detail).toMatch(
      /shop-new could be made: permission denied for database/,
    )
    await many.run('GRANT CONNECT ON DATABASE "shop-new" TO PUBLIC')
    expect(await run(schedule)).toMatchObject({ status: 'succeeded', matched: { newProjects: [], goneProjects: [] } })
  })

  test('stands for something: else it is not made, and does not run', async () => {
    const none = await askSchedule(wharf.root, 'none', byPattern('shop-*', 'none-*'))
    expect(none).toMatchObject({
      status: 404,
      json: { detail: 'the pattern "none-*" stands for no project that may be exported' },
    })
    for (const pattern of ['shop', 'Shop*', 'a b*']) {
      expect((await askSchedule(wharf.root, 'wrong', byPattern(pattern))).status, pattern).toBe(400)
    }
    expect((await askSchedule(wharf.root, 'empty', { request: {} })).status).toBe(400)
    await createProject(wharf, 'brief-a')
    const schedule = await makeSchedule(wharf.root, 'brief', byPattern('brief-?'))
    await wharf.root.delete('/projects/brief-a')
    expect(await run(schedule)).toMatchObject({ status: 'failed', error: { code: 'NOT_FOUND' } })
  })

  test('stands for what its token may export, and others do not see it', async () => {
    for (const slug of ['team-a', 'team-b', 'team-c']) await createProject(wharf, slug)
    const { id, client } = await createToken(wharf, 'admin', ['team-a', 'team-b'])
    const { client: other } = await createToken(wharf, 'admin', ['team-a', 'team-b'])
    expect((await askSchedule(client, 'all', byPattern('shop-*'))).status).toBe(404)
    const schedule = await makeSchedule(client, 'all', byPattern('*'))
    expect((await other.get(`/schedules/${schedule.id}`)).status).toBe(404)
    await many.makeDatabase('shop-unseen')
    const first = await run(schedule)
    expect(await archived(first.jobId)).toEqual(['team-a', '/live', 'team-b', '/live'])
    // Its runs attach nothing.
    expect((await wharf.root.get('/projects/shop-unseen')).status).toBe(404)
    const left = `DELETE FROM control.membership WHERE token_id = '${id}' AND project_id = (SELECT id FROM control.project WHERE slug = 'team-b')`
    await wharf.database.query(left)
    const second = await run(schedule)
    expect(second.matched).toMatchObject({ goneProjects: [{ project: 'team-b', stage: null, gone: 'project' }] })
    expect((await client.get(`/jobs/${second.jobId}/file`)).status).toBe(200)
    expect((await other.get(`/jobs/${second.jobId}`)).status).toBe(404)
    expect((await client.get(`/jobs/${first.jobId}/file`)).status).toBe(404)
    await wharf.root.delete(`/tokens/${id}`)
    expect(await run(schedule)).toMatchObject({ status: 'failed', error: { code: 'AUTHORIZATION_REVOKED' } })
    expect((await showSchedule(wharf.root, schedule)).runs).toHaveLength(3)
  })
})
