import { Option } from 'commander'

/** Collects an option that may be given several times. */
const collect = (value: string, before: readonly string[] = []): string[] => [...before, value]

/** @param flags with a required value, e.g. `--stage <slug>`. */
export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, `${description}; can be repeated`).argParser(collect)

export const jsonOption = (): Option => new Option('--json', 'print the result as one JSON object')

export const yesOption = (): Option => new Option('--yes', 'do not ask for confirmation')

export const projectOption = (): Option =>
  new Option('--project <slug>', 'the project (default: that of --server, or the local one)')

export const serverOption = (): Option =>
  new Option('--server <dsn>', 'another server: wharf://[<project>][:<TOKEN>]@<host>[:port]')
