import type { Command } from 'commander'
import type { Run } from './run.ts'

/** Adds the command that changes structure. */
export function addSchemaCommands(program: Command, run: Run): void {
  program
    .command('schema:apply <file.sql> [target-project]')
    .summary("run SQL that changes a stage's structure")
    .description(
      'Runs an SQL file ("-": standard input) in a stage, whole or not at all: a stage of the local project, or of ' +
        'another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port].',
    )
    .option('--stage <slug>', 'the stage', 'live')
    .action(run(async () => (await import('../schema.ts')).runSchemaApply))
}
