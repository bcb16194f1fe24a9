import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../support/cli/cli.ts'
import { dsnOf } from '../support/cli/dsn.ts'
import { eventually } from '../support/eventually.ts'
import { runWhenDue, type SeenSchedule } from '../support/jobs/schedules.ts'
import { makeScheduleOfDraft } from '../support/notifications/failing-schedule.ts'
import { startReceiver } from '../support/notifications/receiver.ts'
import { type MailServer, startMailServer } from '../support/notifications/smtp-server.ts'
import { makeWebhook, SENDING, untilDelivery } from '../support/notifications/webhooks.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

/** What a chat could take for more than text. */
const NAME = '<!channel> @everyone [x](http://evil.example) *bold*'

let wharf: TestWharf
let mailServer: MailServer
let schedule: SeenSchedule
beforeAll(async () => {
  mailServer = await startMailServer()
  const mail = {
    WHARF_SMTP_URL: `smtp://wharf:secret@127.0.0.1:${mailServer.port}`,
    WHARF_MAIL_FROM: 'wharf@example.org',
  }
  wharf = await startWharf({ ...SENDING, environment: { ...SENDING.environment, ...mail } })
  const draft = await makeScheduleOfDraft(wharf, 'shop', { name: NAME })
  schedule = draft.schedule
  await draft.letFail()
})
afterAll(async () => {
  await wharf?.close()
  await mailServer?.close()
})

async function hook(url: string, kind: string) {
  const webhook = await makeWebhook(wharf.root, url, { kind })
  onTestFinished(async () => {
    await wharf.root.delete(`/webhooks/${webhook.id}`)
  })
  return webhook
}

/** What a receiver got when a run of the schedule has failed. */
async function sentTo(kind: string, path: string) {
  const receiver = await startReceiver(200)
  const webhook = await hook(receiver.url + path, kind)
  const { lastRun } = await runWhenDue(wharf, schedule)
  await untilDelivery(wharf.root, webhook, { status: 'sent', answered: 200 })
  const [request] = receiver.requests
  if (!request) throw new Error('nothing was received')
  expect(request).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } })
  const job = `https://wharf.example.org/jobs/${lastRun?.jobId}`
  return { path: request.path, body: JSON.parse(request.body), job }
}

test('Slack gets a text in which no name means more than itself', async () => {
  const { path, body, job } = await sentTo('slack', '/services/T0/B0/key')
  expect(path).toBe('/services/T0/B0/key')
  const [title, ...lines] = body.text.split('\n')
  expect(title).toBe('⚠️ *Export of shop failed: NOT_FOUND*')
  expect(lines).toContain('Schedule: &lt;!channel&gt; @everyone [x](http://evil.example) *bold*')
  expect(lines).toContainEqual(expect.stringMatching(/^Reason: .*"draft"/))
  expect(lines.at(-1)).toBe(`<${job}|More>`)
})

test('Discord gets an embed that mentions nobody', async () => {
  const { body, job } = await sentTo('discord', '/api/webhooks/1/key')
  expect(body).toMatchObject({
    allowed_mentions: { parse: [] },
    embeds: [{ title: '⚠️ Export of shop failed: NOT_FOUND', url: job, color: expect.any(Number) }],
  })
  expect(body.embeds[0].description).toContain('\\<!channel\\> \\@everyone')
  expect(body.embeds[0].description).toContain('\\[x\\]\\(http\\://evil.example\\)')
})

test('Teams gets an adaptive card whose texts know no Markdown', async () => {
  const { body, job } = await sentTo('teams', '/workflows/1/triggers/manual/paths/invoke?sig=key')
  const [{ contentType, content }] = body.attachments
  expect(body.type).toBe('message')
  expect(contentType).toBe('application/vnd.microsoft.card.adaptive')
  expect(content).toMatchObject({ type: 'AdaptiveCard', actions: [{ type: 'Action.OpenUrl', url: job }] })
  const texts = content.body.map(({ type, inlines }: { type: string; inlines: { text: string }[] }) => [
    type,
    inlines[0]?.text,
  ])
  expect(texts).toContainEqual(['RichTextBlock', 'Export of shop failed: NOT_FOUND'])
  expect(texts).toContainEqual(['RichTextBlock', `Schedule: ${NAME}`])
})

test('Telegram gets a plain text for the chat that the URL names', async () => {
  const { path, body, job } = await sentTo('telegram', '/bot12:key/sendMessage?chat_id=-100')
  expect(path).toBe('/bot12:key/sendMessage')
  expect(body).toMatchObject({ chat_id: '-100', text: expect.stringContaining(`Schedule: ${NAME}\n`) })
  expect(body).not.toHaveProperty('parse_mode')
  expect(body.text.split('\n').at(-1)).toBe(job)
})

test('ntfy gets a message for its topic', async () => {
  const { path, body, job } = await sentTo('ntfy', '/backups?auth=key')
  expect(path).toBe('/?auth=key')
  expect(body).toMatchObject({
    ...{ topic: 'backups', title: 'Export of shop failed: NOT_FOUND', priority: 4, tags: ['warning'], click: job },
    message: expect.stringContaining(`Schedule: ${NAME}`),
  })
})

test('a mailbox gets a mail, the same one again after a refusal', async () => {
  mailServer.refuseWith(451)
  const webhook = await hook('mailto:ops@example.org,night@example.org', 'mail')
  await runWhenDue(wharf, schedule)
  const refused = await untilDelivery(wharf.root, webhook, { status: 'waiting', attempt: 1, answered: 451 })
  expect(refused.error).toBe('the mail server answered with 451 (EMESSAGE)')
  mailServer.refuseWith(undefined)
  await wharf.database.query('UPDATE control.delivery SET due_at = now() WHERE id = $1', [refused.id])
  await untilDelivery(wharf.root, webhook, { status: 'sent', attempt: 2, answered: 250 })
  expect(mailServer.mails).toHaveLength(1)
  const [mail] = mailServer.mails
  expect(mail).toMatchObject({
    login: 'wharf',
    from: 'wharf@example.org',
    to: ['ops@example.org', 'night@example.org'],
  })
  expect(mail?.source).toMatch(/^Subject: \[Wharf\] Export of shop failed: NOT_FOUND\r$/m)
  expect(mail?.source).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(mail?.source).toContain(`Message-ID: <${refused.notificationId}@example.org>`)
  expect(wharf.log()).not.toMatch(/smtp:\/\/wharf|secret@/)
})

test.each([
  ['telegram', 'http://127.0.0.1/bot12:key/sendMessage'],
  ['ntfy', 'http://127.0.0.1/'],
  ['mail', 'ops@example.org'],
  ['mail', 'mailto:ops@example.org\r\nBcc: all@example.org'],
  ['mail', 'mailto:'],
  ['slack', 'mailto:ops@example.org'],
])('a webhook of the kind %s is refused with a URL that is none of it: %s', async (kind, url) => {
  expect(await wharf.root.post('/webhooks', { json: { name: 'x', kind, url } })).toMatchObject({ status: 400 })
})

test('a service that has no mail server refuses mailboxes', async () => {
  const without = await startWharf()
  onTestFinished(without.close)
  const json = { name: 'x', kind: 'mail', url: 'mailto:ops@example.org' }
  expect(await without.root.post('/webhooks', { json })).toMatchObject({
    status: 409,
    text: expect.stringContaining('WHARF_SMTP_URL'),
  })
})

test('a mailbox is given on the command line, and tried out', async () => {
  const administer = (...args: string[]) => runCommand([...args, '--server', dsnOf(wharf)])
  const made = await administer('webhook:create', '--name', 'ops', '--kind', 'mail', '--to', 'ops@example.org')
  expect(made.stdout).toMatch(/^created webhook [0-9a-f-]{36}\n$/)
  expect((await administer('webhook:show', 'ops')).stdout).toMatch(/kind +mail\n +to +ops@example.org\n/)
  expect((await administer('webhook:test', 'ops')).stdout).toBe('sent: the receiver answered with 250\n')
  await eventually(() => mailServer.mails.at(-1)?.source).toMatch(/Subject: \[Wharf\] The webhook ops works/)
  expect(await administer('webhook:edit', 'ops', '--rotate-secret')).toMatchObject({ code: 1 })
  expect(await administer('webhook:create', '--name', 'x')).toMatchObject({ code: 2 })
  await administer('webhook:delete', 'ops', '--yes')
})
