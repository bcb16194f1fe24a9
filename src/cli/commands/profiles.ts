import type { Command } from 'commander'
import type { Run } from './run.ts'

const profiles = () => import('../profiles/profiles.ts')

/** Adds the commands about profiles. */
export function addProfileCommands(program: Command, run: Run): void {
  program
    .command('profile:add <name> <dsn>')
    .description('keep a DSN under a name: "@<name>" then stands for it, "@<name>/<project>" for another project there')
    .action(run(async () => (await profiles()).runProfileAdd))

  program
    .command('profile:list')
    .description('list the profiles, without their tokens')
    .action(run(async () => (await profiles()).runProfileList))

  program
    .command('profile:remove <name>')
    .description('remove a profile')
    .action(run(async () => (await profiles()).runProfileRemove))
}
