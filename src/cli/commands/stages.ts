import type { Command } from 'commander'
import type { StageDeleteOptions } from '../stages.ts'
import type { ResultOptions } from '../terminal/result.ts'
import { jsonOption, yesOption } from './options.ts'
import type { Run } from './run.ts'

const stages = () => import('../stages.ts')

const TARGET = 'of the local project, or of another one by its DSN, wharf://<project>:<TOKEN>@<host>[:port]'

/** Adds the commands about stages. */
export function addStageCommands(program: Command, run: Run): void {
  program
    .command('stage:create <slug> [target-project]')
    .summary('add an empty stage to a project')
    .description(`Adds an empty stage: ${TARGET}.`)
    .addOption(jsonOption())
    .action(
      run(async (context, slug: string, target: string | undefined, options: ResultOptions) =>
        (await stages()).runStageCreate(context, { slug, target }, options),
      ),
    )

  program
    .command('stage:list [target-project]')
    .summary("list a project's stages")
    .description(`Lists the stages ${TARGET}.`)
    .addOption(jsonOption())
    .action(
      run(async (context, target: string | undefined, options: ResultOptions) =>
        (await stages()).runStageList(context, target, options),
      ),
    )

  program
    .command('stage:delete <slug> [target-project]')
    .summary('delete a stage with all its data')
    .description(`Deletes a stage with all its tables and rows, for good: ${TARGET}.`)
    .addOption(yesOption())
    .addOption(jsonOption())
    .action(
      run(async (context, slug: string, target: string | undefined, options: StageDeleteOptions) =>
        (await stages()).runStageDelete(context, { slug, target }, options),
      ),
    )
}
