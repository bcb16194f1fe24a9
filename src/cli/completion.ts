import type { Command } from 'commander'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { print } from './terminal/write.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface CompletedOption {
  /** With its dashes. */
  readonly flag: string
  readonly description: string
  readonly takesValue: boolean
}

interface CompletedCommand {
  readonly name: string
  readonly description: string
  readonly options: readonly CompletedOption[]
}

/** `completion`: prints what a shell completes commands and options by. @param program all of them. */
export const runCompletion =
  (program: Command) =>
  async ({ environment }: CommandContext, shell: Shell): Promise<number> => {
    await print(environment.stdout, SCRIPTS[shell](program.commands.map(toCompleted)))
    return EXIT.done
  }

const toCompleted = (command: Command): CompletedCommand => ({
  name: command.name(),
  description: firstSentence(command.summary() || command.description()),
  options: [
    ...command.options.flatMap(({ long, hidden, description, required, optional }) =>
      long && !hidden
        ? [{ flag: long, description: firstSentence(description), takesValue: required || optional }]
        : [],
    ),
    { flag: '--help', description: 'display help for command', takesValue: false },
  ],
})

const firstSentence = (text: string): string => text.split(/[;:(]|\. /)[0]?.trim() ?? ''

const SCRIPTS: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** bash splits words at colons, too, so that the line is read anew. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ name, options }) => `    ${name}) choices='${flagsOf(options)}' ;;`)
  return `_wharf() {
  local line="\${COMP_LINE:0:COMP_POINT}" current command='' choices='' prefix
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]} - 1]}"
  (( \${#words[@]} > 2 )) && command="\${words[1]}"
  case "$command" in
    '') choices='${commands.map(({ name }) => name).join(' ')}' ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$current"))
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    prefix="\${current%"\${current##*:}"}"
    COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
  fi
}
complete -o default -F _wharf wharf`
}

const flagsOf = (options: readonly CompletedOption[]): string => options.map(({ flag }) => flag).join(' ')

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (text: string, description: string): string =>
    quoted(`${text.replaceAll(':', '\\:')}:${description.replaceAll(':', '\\:')}`, "'\\''")
  const cases = commands.map(({ name, options }) => {
    const lines = options.map(({ flag, description }) => described(flag, description))
    return `    ${name}) options=(${lines.join(' ')}) ;;`
  })
  return `#compdef wharf
_wharf() {
  local -a commands options
  commands=(
    ${commands.map(({ name, description }) => described(name, description)).join('\n    ')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe option options
  else
    _files
  fi
}
if [[ $funcstack[1] == _wharf ]]; then
  _wharf "$@"
else
  compdef _wharf wharf
fi`
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const quote = (text: string): string => quoted(text.replaceAll('\\', '\\\\'), "\\'")
  const lines = commands.flatMap(({ name, description, options }) => [
    `complete -c wharf -n __fish_use_subcommand -f -a ${quote(name)} -d ${quote(description)}`,
    ...options.map(
      (option) =>
        `complete -c wharf -n ${quote(`__fish_seen_subcommand_from ${name}`)} -l ${option.flag.slice(2)} ` +
        `${option.takesValue ? '-r ' : ''}-d ${quote(option.description)}`,
    ),
  ])
  return lines.join('\n')
}

/** @param quote what stands for a single quote between single quotes. */
const quoted = (text: string, quote: string): string => `'${text.replaceAll("'", quote)}'`
