import type { Command } from 'commander'
import { projectOption, yesOption } from './options.ts'
import type { Run } from './run.ts'

const roles = () => import('../roles.ts')

/** Adds the commands about roles. */
export function addRoleCommands(program: Command, run: Run): void {
  program
    .command('role:list')
    .description("list a project's roles and what they may do")
    .addOption(projectOption())
    .action(run(async () => (await roles()).runRoleList))

  program
    .command('role:set <name>')
    .description('create a role, or change it, with exactly the permissions named')
    .option('--content <permissions>', 'some of read,write,export,import,structure')
    .option('--system <permissions>', 'some of export,import')
    .addOption(projectOption())
    .action(run(async () => (await roles()).runRoleSet))

  program
    .command('role:delete <name>')
    .description('delete a role that no usable token has')
    .addOption(yesOption())
    .addOption(projectOption())
    .action(run(async () => (await roles()).runRoleDelete))
}
