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
  'data:transfer': ['wharf data:transfer wharf://shop@wharf.example.org wharf://shop@staging.example.org'],
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
