import { MASK } from '../lib/mask-passwords.ts'
import { maskSecrets } from './mask.ts'

/** Options whose values are URLs with a secret path. */
const SECRET_OPTIONS: ReadonlySet<string> = new Set(['--url', '--ping'])

/**
 * Takes tokens, passwords and secret URLs among a command's arguments out of the list of processes, which every user of a
 * machine may read. They stand there for a moment, while the program starts.
 *
 * @param argv all of the command line, the runtime's own path first.
 */
export function hideArguments(subject: Pick<NodeJS.Process, 'title'>, argv: readonly string[]): void {
  const shown = argv.map((argument, index) => {
    const [option = ''] = argument.split('=', 1)
    if (SECRET_OPTIONS.has(argv[index - 1] ?? '')) return MASK
    return SECRET_OPTIONS.has(option) && argument !== option ? `${option}=${MASK}` : maskSecrets(argument)
  })
  if (shown.some((argument, index) => argument !== argv[index])) subject.title = shown.join(' ')
}
