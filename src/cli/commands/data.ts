import type { Command } from 'commander'
import type { ExportOptions } from '../export/run-export.ts'
import { jsonOption, repeatable } from './options.ts'
import type { Run } from './run.ts'

export function addDataCommands(program: Command, run: Run): void {
  program
    .command('data:export [source-project]')
    .summary('export a project to a file')
    .description(
      'Exports a project to a file: the local one, or another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port].',
    )
    .option('--no-gzip', 'do not compress the output')
    .option('--include-system', 'include the system schema: roles and event log')
    .option('--output <file>', 'output file, "-" for standard output (default: <project>.jsonl.gz or <project>.jsonl)')
    .addOption(repeatable('--stage <slug>', 'export this stage only (default: all stages)'))
    .addOption(repeatable('--exclude-table <name>', 'leave this table out, its structure and its rows'))
    .option('--quiet', 'show no progress')
    .addOption(jsonOption())
    .action(
      run(async (context, source: string | undefined, options: ExportOptions) =>
        (await import('../export/run-export.ts')).runExport(context, source, options),
      ),
    )
}
