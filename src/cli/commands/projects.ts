import type { Command } from 'commander'
import { repeatable, yesOption } from './options.ts'
import type { Run } from './run.ts'

const projects = () => import('../projects.ts')

/** Adds the commands about projects. */
export function addProjectCommands(program: Command, run: Run): void {
  program
    .command('project:create <slug>')
    .description('create a project with its stages and the default roles')
    .addOption(repeatable('--stage <slug>', 'a stage to create (default: live)'))
    .action(run(async () => (await projects()).runProjectCreate))

  program
    .command('project:list')
    .description('list the projects')
    .action(run(async () => (await projects()).runProjectList))

  program
    .command('project:show <slug>')
    .description('show a project with its stages and roles')
    .action(run(async () => (await projects()).runProjectShow))

  program
    .command('project:delete <slug>')
    .description('delete a project with all its data')
    .addOption(yesOption())
    .action(run(async () => (await projects()).runProjectDelete))
}
