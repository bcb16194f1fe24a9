import { maskSecrets } from './mask.ts'

/**
 * Takes tokens and passwords among a command's arguments out of the list of processes, which every user of a machine may
 * read. They stand there for a moment, while the program starts.
 *
 * @param argv all of the command line, the runtime's own path first.
 */
export function hideArguments(subject: Pick<NodeJS.Process, 'title'>, argv: readonly string[]): void {
  const shown = argv.map(maskSecrets)
  if (shown.some((argument, index) => argument !== argv[index])) subject.title = shown.join(' ')
}
