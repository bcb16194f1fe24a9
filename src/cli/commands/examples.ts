import type { Command } from 'commander'

/** What `--help` of a command ends with. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  backup: ['wharf backup --json'],
  recover: ['WHARF_ARTIFACTS=s3://bucket/wharf wharf recover s3://bucket/wharf --key-file backup-key'],
  completion: ['source <(wharf completion bash)', 'wharf completion fish > ~/.config/fish/completions/wharf.fish'],
  'data:export': [
    'wharf data:export wharf://shop@wharf.example.org --output shop.jsonl.gz',
    'wharf data:export postgres://shop@db.example.org/shop --output shop.jsonl.gz',
  ],
  'data:import': [
    'wharf data:import shop.jsonl.gz wharf://shop@wharf.example.org --dry-run',
    'wharf data:import --from-schedule nightly --at 2026-01-31',
  ],
  'data:verify': ['wharf data:verify shop.jsonl.gz'],
  'data:undo': ['wharf data:undo wharf://shop@wharf.example.org --stage live'],
  'project:create': ['wharf project:create shop --stage live --stage draft'],
  'project:attach': ['wharf project:attach shop postgres://app@db.example.org/app --schema public'],
  'schema:apply': [
    'wharf schema:apply shop.sql wharf://shop@wharf.example.org --stage draft',
    'pg_dump app | wharf schema:apply - wharf://shop@wharf.example.org',
  ],
  'role:set': ['wharf role:set backup --content export --system export --project shop'],
  'token:create': ['(umask 077; wharf token:create --project shop --role backup --name nightly > token)'],
  'profile:add': ['wharf profile:add staging wharf://shop@staging.example.org'],
  'job:list': ['wharf job:list --status failed'],
  'job:watch': ['wharf job:watch 97dbba92-105e-4dd6-a03e-4376bc41df38 --quiet'],
  'data:transfer': ['wharf data:transfer wharf://shop@wharf.example.org wharf://shop@staging.example.org'],
  'schedule:edit': ["wharf schedule:edit nightly --cron '0 4 * * *' --keep-last 30"],
  'webhook:create': [
    'wharf webhook:create --name pager --url https://example.org/hooks/wharf --event job.failed --event archive.overdue',
    'wharf webhook:create --name ops --kind mail --to ops@example.org',
  ],
  'schedule:create': [
    "wharf schedule:create --name nightly --cron '30 2 * * *' --project 'shop-*' --keep-last 14 --verify",
  ],
}

export function addExamples(commands: readonly Command[]): void {
  for (const command of commands) {
    const examples = EXAMPLES[command.name()]
    if (examples) command.addHelpText('after', ['', 'Examples:', ...examples.map((line) => `  ${line}`)].join('\n'))
  }
}
