import { type Command, Option } from 'commander'
import { allowIncompleteOption, jobsOption, maxRateOption, repeatable, yesOption, zstdOption } from './options.ts'
import type { Run } from './run.ts'

/** Adds the commands about data. */
export function addDataCommands(program: Command, run: Run): void {
  addExport(program, run)
  addImport(program, run)
  addTransfer(program, run)
  addVerify(program, run)
  addUndo(program, run)
}

function addExport(program: Command, run: Run): void {
  program
    .command('data:export [source-project]')
    .summary('export a project to a file')
    .description(
      'Exports a project to a file: the local project, or another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port]. ' +
        'Or a database of yours, by its address, postgres://<login>@<host>/<database>[?schema=<name>]: that needs no ' +
        'server of Wharf, and leaves nothing behind there.',
    )
    .option('--no-gzip', 'do not compress the output')
    .addOption(zstdOption())
    .option('--include-system', 'include the system schema: roles and event log')
    .option(
      '--output <file>',
      'output file, "-" for standard output (default: <project>.jsonl.gz, .jsonl.zst or .jsonl; of a database, its name)',
    )
    .addOption(repeatable('--stage <slug>', 'export this stage only (default: all stages)'))
    .addOption(repeatable('--exclude-table <name>', 'leave this table out, its structure and its rows'))
    .option('--grants', 'include the rights of other roles, for those that exist at the target')
    .addOption(allowIncompleteOption())
    .addOption(jobsOption())
    .addOption(maxRateOption())
    .option('--async', 'have the server make the archive as a job, then download it')
    .option('--quiet', 'show no progress')
    .action(run(async () => (await import('../export/run-export.ts')).runExport))
}

function addImport(program: Command, run: Run): void {
  program
    .command('data:import [input-file] [target-project]')
    .usage(
      '[options] <input-file> [target-project]\n       wharf data:import --from-schedule <schedule> [options] [target-project]',
    )
    .summary('import a file, or the archive of a schedule, over the existing data')
    .description(
      'Imports a file ("-": standard input) over the existing data: into the project of the DSN, ' +
        'wharf://<project>:<TOKEN>@<host>[:port]; without a DSN, into the target that the file names, or else into the ' +
        'local project. With a DSN that names no project, the file says where to. Or into a database of yours, by its address, ' +
        'postgres://<login>@<host>/<database>[?schema=<name>]. All of it is imported, or nothing.',
    )
    .addOption(yesOption())
    .option(
      '--from-schedule <schedule>',
      'import the newest archive of this schedule, by its name or id, instead of a file',
    )
    .option('--at <time>', 'with --from-schedule, the newest archive of this time or before')
    .option('--project <slug>', 'import this project of the file, and none of the others')
    .option('--dry-run', 'only say what would be replaced, or why it cannot be')
    .option('--allow-edited', 'accept a file whose rows were edited: counts and sums may disagree')
    .addOption(allowIncompleteOption())
    .option(
      '--jobs <number>',
      'how many sessions load one stage side by side, at most (default: one more than the server has processors, up to 4)',
    )
    .option('--quiet', 'show no progress')
    .action(run(async () => (await import('../import/run-import.ts')).runImport))
}

function addTransfer(program: Command, run: Run): void {
  program
    .command('data:transfer <source-project> <target-project>')
    .summary('copy the data of a project into another one')
    .description(
      'Copies the data of one project directly into another one, over the existing data. Each project is a DSN, ' +
        'wharf://<project>:<TOKEN>@<host>[:port], or "." for the local project, or the address of a database, ' +
        'postgres://<login>@<host>/<database>[?schema=<name>]. All of it arrives, or nothing.',
    )
    .option('--include-system', 'include the system schema: roles and event log')
    .addOption(repeatable('--stage <slug>', 'transfer this stage only (default: all stages)'))
    .addOption(repeatable('--exclude-table <name>', 'leave this table out, its structure and its rows'))
    .option('--grants', 'include the rights of other roles, for those that exist at the target')
    .addOption(allowIncompleteOption())
    .addOption(jobsOption())
    .addOption(maxRateOption())
    .addOption(yesOption())
    .option('--quiet', 'show no progress')
    .action(run(async () => (await import('../transfer/run-transfer.ts')).runTransfer))
}

function addVerify(program: Command, run: Run): void {
  program
    .command('data:verify <file>')
    .summary('check a file, without a server')
    .description(
      'Checks an archive ("-": standard input) to its end: form, counts, sums and order. Exits with 1 at the first fault, and ' +
        'with 3 where rows are missing.',
    )
    .option('--allow-edited', 'accept a file whose rows were edited: counts and sums may disagree')
    .addOption(allowIncompleteOption())
    .option('--quiet', 'show no progress')
    .action(run(async () => (await import('../verify.ts')).runVerify))
}

function addUndo(program: Command, run: Run): void {
  program
    .command('data:undo [target-project]')
    .summary('put back what the last import or transfer replaced')
    .description(
      'Puts back what the last import or transfer into a stage replaced, for as long as the server keeps it: in the ' +
        'local project, or in another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port].',
    )
    .option('--stage <slug>', 'the stage', 'live')
    .option('--force', 'undo even if the stage was written to since, and give those writes up')
    .addOption(
      new Option('--discard', 'put nothing back: drop what was replaced now, instead of keeping it').conflicts('force'),
    )
    .addOption(yesOption())
    .action(run(async () => (await import('../undo.ts')).runUndo))
}
