import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { findFreePort } from '../../src/database/embedded/free-port.ts'
import { createMigratedDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Child, spawnChild } from '../support/processes/child.ts'
import { isInstalled } from '../support/processes/is-installed.ts'
import {
  type MainProcess,
  type ServiceProcess,
  startServiceProcess,
  startWorkerOf,
} from '../support/service/service-process.ts'
import { startWharf } from '../support/service/wharf.ts'

const pathOf = (name: string): string => fileURLToPath(new URL(`../../docs/monitoring/${name}`, import.meta.url))
const RULES = pathOf('alerts.yml')
const RULE_TESTS = fileURLToPath(new URL('../fixtures/alerts-test.yml', import.meta.url))

const panelSchema = z.looseObject({
  id: z.number(),
  title: z.string().min(1),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.looseObject({ expr: z.string() })).default([]),
})
const { panels } = z
  .looseObject({ panels: z.array(panelSchema) })
  .parse(JSON.parse(await readFile(pathOf('dashboard.json'), 'utf8')))
const rules = await readFile(RULES, 'utf8')

/** What the dashboard asks Prometheus for, as Grafana would send it. */
const QUERIES = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m')))

/** What the rules for alerts ask. */
const ASKED = [...rules.matchAll(/expr: \|?\s*([\s\S]*?)\n {8}\w/g)].map(([, expr = '']) => expr)

test('the dashboard and the rules for alerts ask only for figures that there are', async () => {
  const wharf = await startWharf()
  const { text } = await wharf.root.get('/metrics')
  await wharf.close()
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const figures = [...types].flatMap(([name, type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  )
  const names = [...ASKED, ...QUERIES].flatMap((text) => text.match(/\b(?:wharf|process|nodejs)_\w+/g) ?? [])
  expect(ASKED.length).toBeGreaterThan(10)
  expect(names.filter((name) => !figures.includes(name))).toEqual([])
})

test('alerts outlast the minute until another process gives the figures of one that is gone', async () => {
  const [, row = ''] =
    /^\| the service \|(.*)\| one process at a time \|$/m.exec(await readFile(pathOf('../operations.md'), 'utf8')) ?? []
  const ofService = [...row.matchAll(/`(wharf_\w+)`/g)].map(([, name = '']) => `${name}\\b`)
  const figure = new RegExp([...ofService, 'wharf_schedule_\\w+', 'wharf_project_\\w+'].join('|'), 'g')
  const uses = ASKED.flatMap((text) =>
    [...text.matchAll(figure)].map(({ 0: name, index }) => text.slice(0, index).replaceAll(/\s+/g, ' ') + name),
  )
  expect(uses.length).toBeGreaterThan(10)
  expect(
    uses.filter((text) => !/(?:max(?: by \(\w+\))? ?\(|topk by \(\w+\) \(1, )last_over_time\(\w+$/.test(text)),
  ).toEqual([])
})

test('a figure that is not known is left out, and is not 0', async () => {
  const wharf = await startWharf()
  const { text } = await wharf.root.get('/metrics')
  await wharf.close()
  expect(text).toMatch(/^wharf_archives_damaged 0$/m)
  expect(text).not.toMatch(/^wharf_backup_last_success_timestamp_seconds /m)
})

test('no panels of the dashboard share an id, or their place', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
})

describe.skipIf(!isInstalled('promtool'))('of promtool', () => {
  const promtool = (...args: string[]) => spawnSync('promtool', args, { encoding: 'utf8' })

  test('the rules for alerts, and the configuration that loads them, are taken', () => {
    const count = rules.match(/- alert:/g)?.length
    expect(promtool('check', 'rules', RULES)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${count} rules found`),
    })
    expect(promtool('check', 'config', pathOf('prometheus.yml'))).toMatchObject({ status: 0 })
  })

  test('alerts are raised when they have to be, and otherwise not', () => {
    const { status, stdout, stderr } = promtool('test', 'rules', RULE_TESTS)
    expect(status, stdout + stderr).toBe(0)
  })
})

describe.skipIf(!isInstalled('prometheus'))('with a Prometheus', () => {
  let folder: string
  let database: TestDatabase
  let api: ServiceProcess
  let worker: MainProcess
  let metricsPort: number
  let prometheus: Child
  let url: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wharf-test-'))
    database = await createMigratedDatabase()
    const optionsOf = (name: string, environment = {}) => ({
      ...{ databaseUrl: database.url, dataDir: join(folder, name) },
      environment: { WHARF_ARTIFACTS: join(folder, 'artifacts'), ...environment },
    })
    api = await startServiceProcess(optionsOf('api'), 'api')
    metricsPort = await findFreePort()
    worker = await startWorkerOf(optionsOf('worker', { WHARF_METRICS_PORT: String(metricsPort) }))
    const configuration = (await readFile(pathOf('prometheus.yml'), 'utf8'))
      .replace('scrape_interval: 30s', 'scrape_interval: 1s\n  evaluation_interval: 1s')
      .replace('- alerts.yml', `- ${RULES}`)
      .replace('127.0.0.1:4000', new URL(api.url).host)
      .replace('127.0.0.1:4001', `127.0.0.1:${metricsPort}`)
    await writeFile(join(folder, 'prometheus.yml'), configuration)
    const port = await findFreePort()
    url = `http://127.0.0.1:${port}`
    const options = [
      '--config.file',
      'prometheus.yml',
      '--storage.tsdb.path',
      'data',
      '--web.listen-address',
      new URL(url).host,
    ]
    prometheus = await spawnChild('prometheus', options, { cwd: folder, stdio: 'ignore' })
  })

  afterAll(async () => {
    prometheus?.signal('SIGKILL')
    await prometheus?.ended
    await api?.kill('SIGKILL')
    await worker?.kill('SIGKILL')
    await database?.drop()
    if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })

  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(url + path).catch(() => undefined)
    return answer?.json()
  }
  const query = (text: string): Promise<unknown> => ask(`/api/v1/query?query=${encodeURIComponent(text)}`)

  test('it scrapes API and worker, and can answer all that the dashboard asks', async () => {
    await eventually(() => query('sum(up{job="wharf"})')).toMatchObject({
      data: { result: [{ value: [expect.any(Number), '2'] }] },
    })
    await eventually(() => query('count(wharf_dependency_up == 1)')).toMatchObject({
      data: { result: [{ value: [expect.any(Number), '4'] }] },
    })
    for (const text of QUERIES) expect(await query(text), text).toMatchObject({ status: 'success' })
  })

  test('API and worker keep to the rules that Prometheus has for figures', async () => {
    for (const origin of [api.url, `http://127.0.0.1:${metricsPort}`]) {
      const input = await (await fetch(new URL('/metrics', origin))).text()
      const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
      expect(stdout + stderr).toBe('')
    }
  })

  test('it evaluates all rules for alerts, and none is raised', async () => {
    const ruleSchema = z.looseObject({ name: z.string(), health: z.string(), state: z.string() })
    const read = async () => {
      const { data } = z
        .object({ data: z.object({ groups: z.array(z.object({ rules: z.array(ruleSchema) })) }) })
        .parse(await ask('/api/v1/rules'))
      return data.groups.flatMap((group) => group.rules.map(({ health, state }) => `${health} ${state}`))
    }
    await eventually(async () => [...new Set(await read())]).toEqual(['ok inactive'])
  })
})
