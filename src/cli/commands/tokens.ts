import type { Command } from 'commander'
import { repeatable, yesOption } from './options.ts'
import type { Run } from './run.ts'

const tokens = () => import('../tokens.ts')

/** Adds the commands about tokens. */
export function addTokenCommands(program: Command, run: Run): void {
  program
    .command('token:create')
    .description('create a token, and print it; it is not shown again')
    .addOption(repeatable('--project <slug>', 'a project that it is for (default: the local one)'))
    .addOption(repeatable('--role <role>', 'its role in that project').makeOptionMandatory())
    .requiredOption('--name <name>', 'what it is for')
    .option('--expires <when>', 'when it ends: 90m, 12h, 30d, 4w, a date, or a time with its zone (default: never)')
    .action(run(async () => (await tokens()).runTokenCreate))

  program
    .command('token:list')
    .description('list the tokens, without their secrets')
    .option('--project <slug>', 'only tokens of this project')
    .action(run(async () => (await tokens()).runTokenList))

  program
    .command('token:revoke <id>')
    .description('revoke a token for good')
    .addOption(yesOption())
    .action(run(async () => (await tokens()).runTokenRevoke))
}
