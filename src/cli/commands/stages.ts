import type { Command } from 'commander'
import { yesOption } from './options.ts'
import type { Run } from './run.ts'

const stages = () => import('../stages.ts')

const PROJECT = 'the local project, or another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port]'

/** Adds the commands about stages, and the one that changes their structure. */
export function addStageCommands(program: Command, run: Run): void {
  program
    .command('stage:create <slug> [target-project]')
    .summary('add an empty stage to a project')
    .description(`Adds an empty stage to a project: ${PROJECT}.`)
    .action(run(async () => (await stages()).runStageCreate))

  program
    .command('stage:attach <slug> [target-project]')
    .summary('add a schema of an attached project as a stage')
    .description(`Adds a schema of the database of an attached project as a stage: ${PROJECT}.`)
    .requiredOption('--schema <name>', 'the schema')
    .option(
      '--log-events',
      'keep an event log there, by triggers on its tables, so that its rows can be read over HTTP',
    )
    .action(run(async () => (await import('../attach/stage-attach.ts')).runStageAttach))

  program
    .command('stage:log <slug> [target-project]')
    .summary('keep an event log of an attached stage, or no longer')
    .description(
      `Has an event log of a stage of an attached project kept in its database: ${PROJECT}. Triggers on its tables write it, ` +
        'in the schema wharf_log; the login has to own them. The rows of the stage can be read over HTTP then.',
    )
    .option('--off', 'keep it no longer, and remove all of it')
    .action(run(async () => (await import('../attach/stage-log.ts')).runStageLog))

  program
    .command('stage:detach <slug> [target-project]')
    .summary('forget a stage of an attached project')
    .description(`Forgets a stage of an attached project, whose schema stays in its database: ${PROJECT}.`)
    .option('--force', 'leave what imports have left there, e.g. of a database that is not to be reached')
    .addOption(yesOption())
    .action(run(async () => (await import('../attach/detach.ts')).runStageDetach))

  program
    .command('stage:list [target-project]')
    .summary("list a project's stages")
    .description(`Lists the stages of a project: ${PROJECT}.`)
    .action(run(async () => (await stages()).runStageList))

  program
    .command('stage:delete <slug> [target-project]')
    .summary('delete a stage with all its data')
    .description(`Deletes a stage of a project, with all its tables and rows, for good: ${PROJECT}.`)
    .addOption(yesOption())
    .action(run(async () => (await stages()).runStageDelete))

  program
    .command('schema:apply <file.sql> [target-project]')
    .summary("run SQL that changes a stage's structure, or a dump")
    .description(
      'Runs an SQL file ("-": standard input; plain or gzip) in a stage, whole or not at all: a stage of the local ' +
        'project, or of another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port]. It takes a plain dump as pg_dump ' +
        'writes it, rows included: pg_dump app | wharf schema:apply -',
    )
    .option('--stage <slug>', 'the stage', 'live')
    .option('--schema <name>', 'the schema of the script that means the stage (in a dump: "public")')
    .option('--strict', 'refuse a dump with statements that would be passed over, such as OWNER TO')
    .option('--quiet', 'show no progress')
    .action(run(async () => (await import('../schema.ts')).runSchemaApply))
}
