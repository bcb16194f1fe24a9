import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CliOptions, type CliResult, runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { serveHttp } from '../support/http/serve-http.ts'
import { makeSchedule } from '../support/jobs/schedules.ts'
import { deliveriesOf, SENDING } from '../support/notifications/webhooks.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

let wharf: TestWharf
beforeAll(async () => {
  wharf = await startWharf(SENDING)
  await createProject(wharf, 'shop')
})
afterAll(() => wharf?.close())

const administer = (args: readonly string[], options?: CliOptions): Promise<CliResult> =>
  runCommand([...args, '--server', dsnOf(wharf)], options)

const startReceiver = (status = 204) => serveHttp((_, response) => void response.writeHead(status).end())

test('a webhook is created, shown without its secrets, changed and deleted', async () => {
  const receiver = await startReceiver()
  const schedule = await makeSchedule(wharf.root, 'shop', { name: 'nightly' })
  const chosen = ['--event', 'job.failed', '--job-kind', 'export', '--project', 'shop-*', '--schedule', 'nightly']
  const created = await administer(['webhook:create', '--name', 'pager', '--url', '-', ...chosen], {
    input: `${receiver.url}/hidden-path\n`,
  })
  expect(created).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^whsec_\S+\n$/) })
  const listed = await administer(['webhook:list'])
  expect(listed.stdout).toMatch(
    /^id +name +kind +to +events +state\n[0-9a-f-]{36} +pager +standard +http:\S+ +job.failed +enabled\n$/,
  )
  const shown = await administer(['webhook:show', 'pager'])
  expect(shown.stdout).toMatch(/jobs +export\n +projects +shop-\*\n/)
  expect(shown.stdout).toContain(`schedules  ${schedule.id}\n`)
  const changed = await administer(['webhook:edit', 'pager', '--event', 'all', '--disable'])
  expect(changed.stdout).toMatch(/events +all\n[\s\S]*state +disabled\n$/)
  expect(await administer(['webhook:edit', 'pager'])).toMatchObject({ code: 2 })
  expect(listed.stdout + shown.stdout + changed.stdout).not.toMatch(/hidden-path|whsec_/)
  expect(await administer(['webhook:delete', 'pager', '--yes'])).toMatchObject({ code: 0 })
  expect((await administer(['webhook:list'])).stdout).toBe('there are no webhooks\n')
})

test('a webhook is tried out, and what it was sent is listed and sent again', async () => {
  const receiver = await startReceiver()
  await administer(['webhook:create', '--name', 'mine', '--url', receiver.url])
  expect(await administer(['webhook:test', 'mine'])).toMatchObject({
    code: 0,
    stdout: 'sent: the receiver answered with 204\n',
  })
  const { webhooks } = JSON.parse((await administer(['webhook:list', '--json'])).stdout)
  const [delivery] = await deliveriesOf(wharf.root, webhooks[0])
  const listed = await administer(['webhook:deliveries', 'mine', '--status', 'sent'])
  expect(listed.stdout).toMatch(/webhook\.test +- +\S+ +sent +1 +204\n$/)
  const again = await administer(['webhook:resend', 'mine', delivery?.id ?? ''])
  expect(again.stdout).toBe(`notification ${delivery?.notificationId} is sent again\n`)
  const rotated = await administer(['webhook:edit', 'mine', '--rotate-secret'])
  expect(await administer(['webhook:test', 'mine'])).toMatchObject({ code: 0 })
  const { body = '', headers } = receiver.requests.at(-1) ?? {}
  expect(new Webhook(rotated.stdout.trim()).verify(body, headers as Record<string, string>)).toMatchObject({
    type: 'webhook.test',
  })
  await administer(['webhook:delete', 'mine', '--yes'])
})

test('a webhook that does not work says so when it is tried out', async () => {
  const receiver = await startReceiver(404)
  await administer(['webhook:create', '--name', 'wrong', '--url', receiver.url])
  expect(await administer(['webhook:test', 'wrong'])).toMatchObject({
    code: 1,
    stdout: 'not sent: the receiver answered with the status 404\n',
  })
  expect(await administer(['webhook:test', 'none'])).toMatchObject({ code: 1 })
  expect(await administer(['webhook:create', '--name', 'in', '--url', 'http://10.0.0.1'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('WHARF_WEBHOOK_HOSTS'),
  })
})
