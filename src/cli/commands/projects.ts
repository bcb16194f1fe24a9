import type { Command } from 'commander'
import { deleteSchedulesOption, repeatable, yesOption } from './options.ts'
import type { Run } from './run.ts'

const projects = () => import('../projects.ts')

/** Adds the commands about projects. */
export function addProjectCommands(program: Command, run: Run): void {
  program
    .command('project:create <slug>')
    .description('create a project with its stages and the default roles')
    .addOption(repeatable('--stage <slug>', 'a stage to create (default: live)'))
    .option('--own-database', 'in a database of its own, where the first stage is the schema public')
    .action(run(async () => (await projects()).runProjectCreate))

  addAttachCommands(program, run)

  program
    .command('project:list')
    .description('list the projects')
    .action(run(async () => (await projects()).runProjectList))

  program
    .command('project:show <slug>')
    .description('show a project with its stages and roles')
    .action(run(async () => (await projects()).runProjectShow))

  program
    .command('project:log <slug>')
    .summary('say what is kept of the event logs of a project')
    .description(
      'Says what is kept of the event logs of a project. Older events are removed in the minutes after, and then again and ' +
        'again. "default" in place of a number is what the server is configured to keep.',
    )
    .option('--keep-days <number>', 'for how many days events are kept; 0 for ever')
    .option('--keep-events <number>', 'how many events the log of each stage keeps; 0 any number')
    .action(run(async () => (await projects()).runProjectLog))

  program
    .command('project:delete <slug>')
    .description('delete a project with all its data')
    .addOption(deleteSchedulesOption())
    .addOption(yesOption())
    .action(run(async () => (await projects()).runProjectDelete))
}

function addAttachCommands(program: Command, run: Run): void {
  program
    .command('project:attach <slug> [address]')
    .usage('[options] <slug> <address>\n       wharf project:attach --all [options] <address>')
    .summary('make a project of schemas of a database that is not Wharf’s, or projects of all databases of a server')
    .description(
      'Makes a project whose stages are schemas of a database that you have: postgres://<login>@<host>/<database>. What the ' +
        'address leaves out, the password too, comes from PGPASSWORD, ~/.pgpass, PGSERVICE and the like, as for psql. Nothing ' +
        'is changed there. The service has to be able to reach the host; it keeps the address encrypted. With --all, each database ' +
        'of the server is a project, named as the database, and each schema that holds something a stage; ' +
        '?exclude=<name>,<pattern> of the address leaves databases out. --all with the name of a server looks at it again. ' +
        'Databases that come later are attached by the next look, or by a schedule whose --project is a pattern.',
    )
    .option('--all', 'attach each database of the server')
    .option('--name <name>', 'with --all, what the server is called here (default: as its host)')
    .option('--prefix <text>', 'with --all, what the slugs of the projects begin with')
    .addOption(repeatable('--schema <name>', 'a schema that is a stage (default: public)'))
    .addOption(repeatable('--stage <slug>', 'its stage, in the same order (default: live, or named as the schemas)'))
    .option('--change', 'give a project, or with --all a server, that is attached another address')
    .option(
      '--log-events',
      'keep event logs there, by triggers on its tables, so that their rows can be read over HTTP',
    )
    .action(run(async () => (await import('../attach/project-attach.ts')).runProjectAttach))

  program
    .command('project:detach <slug>')
    .description('forget an attached project; its data stays in its database')
    .option('--all', 'forget the attached server of this name with all its projects')
    .option('--force', 'leave what imports have left there, e.g. of a database that is not to be reached')
    .addOption(deleteSchedulesOption())
    .addOption(yesOption())
    .action(run(async () => (await import('../attach/detach.ts')).runProjectDetach))

  program
    .command('project:servers')
    .description('list the servers each of whose databases is attached, with their projects')
    .action(run(async () => (await import('../attach/servers.ts')).runProjectServers))
}
