import { type Command, Option } from 'commander'
import { allowIncompleteOption, jobsOption, maxRateOption, repeatable, yesOption, zstdOption } from './options.ts'
import type { Run } from './run.ts'

const schedules = () => import('../schedules.ts')

/** Adds the commands about schedules. */
export function addScheduleCommands(program: Command, run: Run): void {
  addCreateCommand(program, run)
  addRunningCommands(program, run)
}

function addCreateCommand(program: Command, run: Run): void {
  program
    .command('schedule:create')
    .description('export projects, or transfer one, on a schedule')
    .requiredOption('--name <name>', 'what it is for')
    .requiredOption('--cron <cron>', 'when: minute, hour, day of month, month, day of week; or @daily and the like')
    .option('--timezone <name>', 'the time zone of --cron, e.g. Europe/Berlin (default: UTC)')
    .addOption(
      repeatable(
        '--project <slug>',
        'a project to export, or a pattern such as shop-* for all that match at each run (default: the local one)',
      ),
    )
    .option('--from <project>', 'transfer from this project of the server, or from one of another server by its DSN')
    .option('--to <project>', 'transfer over this project of the server, or over one of another server by its DSN')
    .option('--include-system', 'include the system schema: roles and event log')
    .addOption(repeatable('--stage <slug>', 'this stage only (default: all stages)'))
    .addOption(repeatable('--exclude-table <name>', 'leave this table out, its structure and its rows'))
    .option('--grants', 'include the rights of other roles, for those that exist at the target')
    .addOption(allowIncompleteOption())
    .addOption(jobsOption())
    .addOption(maxRateOption())
    .addOption(zstdOption())
    .option('--keep-last <number>', 'keep this many archives; where some are proven, only those count')
    .option('--keep-days <number>', 'keep archives for this many days')
    .option('--verify', 'restore and compare every archive before its run succeeds')
    .addOption(alarmAgeOption())
    .addOption(alarmShrinkOption())
    .addOption(pingOption())
    .option('--ping-start', 'ask for /start of that URL when a run begins')
    .option('--ping-fail', 'ask for /fail of that URL when a run has failed')
    .option('--paused', 'do not run it until schedule:resume')
    .action(run(async () => (await schedules()).runScheduleCreate))
}

function addRunningCommands(program: Command, run: Run): void {
  program
    .command('schedule:list')
    .description('list the schedules, with their next and last runs')
    .action(run(async () => (await schedules()).runScheduleList))

  program
    .command('schedule:show <schedule>')
    .description(
      'show a schedule, by its name or id, with its newest runs, and which projects were new to them, or gone',
    )
    .action(run(async () => (await schedules()).runScheduleShow))

  program
    .command('schedule:edit <schedule>')
    .summary('change when a schedule runs, and which archives it keeps')
    .description(
      'Changes a schedule, by its name or id: what its options name; all else stays as it is. What it exports or transfers ' +
        'is said when it is made. "none" in place of a number, an age or a URL takes that away.',
    )
    .option('--name <name>', 'what it is for')
    .option('--cron <cron>', 'when: minute, hour, day of month, month, day of week; or @daily and the like')
    .option('--timezone <name>', 'the time zone of --cron, e.g. Europe/Berlin')
    .option('--keep-last <number>', 'keep this many archives; where some are proven, only those count')
    .option('--keep-days <number>', 'keep archives for this many days')
    .option('--verify', 'restore and compare every archive before its run succeeds')
    .option('--no-verify', 'do not')
    .addOption(alarmAgeOption())
    .addOption(alarmShrinkOption())
    .addOption(pingOption())
    .option('--ping-start', 'ask for /start of that URL when a run begins')
    .option('--ping-fail', 'ask for /fail of that URL when a run has failed')
    .action(run(async () => (await schedules()).runScheduleEdit))

  program
    .command('schedule:pause <schedule>')
    .description('pause a schedule until it is resumed')
    .action(run(async () => (await schedules()).runSchedulePause))

  program
    .command('schedule:resume <schedule>')
    .description('resume a paused schedule; runs missed meanwhile are not made up for')
    .action(run(async () => (await schedules()).runScheduleResume))

  program
    .command('schedule:run <schedule>')
    .description('run a schedule now, paused or not')
    .action(run(async () => (await schedules()).runScheduleRun))

  program
    .command('schedule:delete <schedule>')
    .description('delete a schedule; its archives stay for as long as those of any other job')
    .addOption(yesOption())
    .action(run(async () => (await schedules()).runScheduleDelete))
}

const alarmAgeOption = (): Option =>
  new Option('--alarm-age <age>', 'tell webhooks when the last archive, proven with --verify, is older: 36h, 3d')

const alarmShrinkOption = (): Option =>
  new Option(
    '--alarm-shrink <percent>',
    'tell webhooks of archives that are smaller by so many percent than the one before',
  )

const pingOption = (): Option =>
  new Option('--ping <url>', 'ask for this URL when a run has succeeded; "-" reads it from standard input')
