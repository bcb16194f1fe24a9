import type { Command } from 'commander'
import { repeatable, yesOption } from './options.ts'
import type { Run } from './run.ts'

const webhooks = () => import('../webhooks.ts')
const deliveries = () => import('../webhook-deliveries.ts')

/** Adds the commands about webhooks. */
export function addWebhookCommands(program: Command, run: Run): void {
  addSettings(
    program
      .command('webhook:create')
      .description(
        'have notifications sent to a URL, a chat or a mailbox; prints the secret that they are signed with, which is not shown again',
      )
      .requiredOption('--name <name>', 'what it is for')
      .option(
        '--kind <kind>',
        'what is sent: standard (signed JSON), or a text for slack, discord, teams, telegram, ntfy or mail',
        'standard',
      )
      .option('--url <url>', 'where they are sent; "-" reads it from standard input')
      .addOption(repeatable('--to <address>', 'with --kind mail: the address of a mailbox, in place of --url')),
  ).action(run(async () => (await webhooks()).runWebhookCreate))

  program
    .command('webhook:list')
    .description('list the webhooks, without their secrets')
    .action(run(async () => (await webhooks()).runWebhookList))

  program
    .command('webhook:show <webhook>')
    .description('show a webhook, by its name or id')
    .action(run(async () => (await webhooks()).runWebhookShow))

  addSettings(
    program
      .command('webhook:edit <webhook>')
      .summary('change what a webhook is sent, and where')
      .description(
        'Changes a webhook, by its name or id: what its options name; all else stays as it is. "all" takes a choice away.',
      )
      .option('--name <name>', 'what it is for')
      .option('--url <url>', 'where notifications are sent; "-" reads it from standard input')
      .addOption(repeatable('--to <address>', 'the address of a mailbox, in place of --url')),
  )
    .option('--enable', 'send notifications again')
    .option('--disable', 'send none until it is enabled again; those that wait are given up')
    .option('--rotate-secret', 'make a new secret, and print it; the one until now counts for another day')
    .action(run(async () => (await webhooks()).runWebhookEdit))

  program
    .command('webhook:delete <webhook>')
    .description('delete a webhook, with the log of what it was sent')
    .addOption(yesOption())
    .action(run(async () => (await webhooks()).runWebhookDelete))

  program
    .command('webhook:test <webhook>')
    .description('send a notification that says only that the webhook works, and wait for what becomes of it')
    .action(run(async () => (await deliveries()).runWebhookTest))

  program
    .command('webhook:deliveries <webhook>')
    .description('list what was sent to a webhook in the last 30 days, or is to be, the newest first')
    .option('--status <status>', 'only those that are waiting, sent or failed')
    .option('--limit <number>', 'how many, at most (default: 50)')
    .action(run(async () => (await deliveries()).runWebhookDeliveries))

  program
    .command('webhook:resend <webhook> <delivery>')
    .description('send a notification again, with the id that it has')
    .action(run(async () => (await deliveries()).runWebhookResend))
}

/** What a webhook can choose by. */
const addSettings = (command: Command): Command =>
  command
    .addOption(
      repeatable(
        '--event <type>',
        'only these: job.succeeded, job.failed, job.cancelled, proof.failed, schedule.missed, archive.overdue, archive.shrunk',
      ),
    )
    .addOption(repeatable('--job-kind <kind>', 'only of these jobs: export, import, transfer'))
    .addOption(repeatable('--project <slug>', 'only of this project, or of those that match a pattern such as shop-*'))
    .addOption(repeatable('--schedule <schedule>', 'only runs of this schedule, by its name or id'))
