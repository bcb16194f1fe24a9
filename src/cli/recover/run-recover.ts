import { readFile } from 'node:fs/promises'
import { wrongUse } from '../../errors.ts'
import { createLogger } from '../../logger.ts'
import { type Recovery, recover } from '../../recovery/recover.ts'
import type { RecoveredProject } from '../../recovery/recover-data.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { throwFileFailure } from '../file-failure.ts'
import { askPassword } from '../terminal/ask-password.ts'
import { printResult, type ReportOptions } from '../terminal/result.ts'
import { print } from '../terminal/write.ts'

export interface RecoverOptions extends ReportOptions {
  readonly backup?: string
  readonly keyFile?: string
}

/**
 * `recover`: brings an installation back on a machine that has nothing of it.
 *
 * @returns 0 where all projects have their data again, 3 where some of it is missing.
 */
export async function runRecover(context: CommandContext, store: string, options: RecoverOptions): Promise<number> {
  const { environment, signal } = context
  const config = await environment.loadServiceConfig()
  const recovery = await recover({
    ...{ config, location: store, backup: options.backup, version: environment.version, signal },
    passphrase: config.backupKey ?? (await readKey(context, options.keyFile)),
    logger: createLogger('silent'),
    say: (text) => void (options.quiet || print(environment.stderr, `recovering ${text}`)),
  })
  const isWhole = recovery.projects.every(({ missing }) => missing.length === 0)
  await printResult(context, options, { json: toJson(recovery), text: () => toText(recovery) })
  return isWhole ? EXIT.done : EXIT.incomplete
}

async function readKey(context: CommandContext, file: string | undefined): Promise<string> {
  if (file === undefined) return askPassword(context, 'the backup', 'WHARF_BACKUP_KEY or --key-file can give it')
  const key = (await readFile(file, 'utf8').catch(throwFileFailure(file, 'read'))).trim()
  if (key === '') throw wrongUse(`${file} is empty, and should have the key of the backup`)
  return key
}

const toJson = ({ backup, projects, attached, turnedOff }: Recovery): object => ({
  backup: backup.key,
  madeAt: backup.madeAt.toISOString(),
  projects: projects.map(({ slug, archives, missing, problems }) => ({
    project: slug,
    archives: archives.map(({ jobId, madeAt, stages }) => ({ jobId, madeAt, stages })),
    missing,
    problems,
  })),
  attached,
  schedulesTurnedOff: turnedOff,
})

function toText({ backup, projects, attached, turnedOff }: Recovery): string {
  const lines = [
    `recovered from the backup of ${backup.madeAt.toISOString()}`,
    ...projects.flatMap(linesOf),
    ...attached.map((slug) => `${slug}: attached; its data is in its own database`),
    ...turnedOff.map(
      (name) => `the schedule "${name}" is off, since data of its projects is missing: schedule:resume turns it on`,
    ),
    'the service can be started now',
  ]
  return lines.join('\n')
}

const linesOf = ({ slug, archives, missing, problems }: RecoveredProject): readonly string[] => [
  ...archives.map(({ madeAt, stages }) => `${slug}: ${stages.join(', ')} as of ${madeAt}`),
  ...(missing.length > 0 ? [`${slug}: no proven archive has ${missing.join(', ')}, which is empty now`] : []),
  ...problems.map((problem) => `${slug}: ${problem}`),
]
