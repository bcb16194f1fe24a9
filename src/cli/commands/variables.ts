import type { Command } from 'commander'

const MEANINGS = {
  DATABASE_URL: 'the PostgreSQL of the service (default: an embedded one)',
  REDIS_URL: 'carries the queue (default: PostgreSQL does)',
  WHARF_DATA_DIR: 'the data folder of the local service (default: .wharf)',
  WHARF_ARTIFACTS: 'where archives are kept: a folder, or s3://bucket/prefix',
  WHARF_SECRET_KEY: 'encrypts stored passwords (default: one of the data folder)',
  WHARF_BACKUP_KEY: 'the passphrase of backups of Wharf itself',
  WHARF_PROJECT: 'the local project (default: demo)',
  WHARF_TOKEN: 'the token for a DSN without one',
  WHARF_PROFILES: 'the file that has the profiles',
  PGPASSWORD: 'the password for an address without one, as for psql',
} as const

type Variable = keyof typeof MEANINGS

const OF_SERVICE: readonly Variable[] = [
  ...(['DATABASE_URL', 'REDIS_URL', 'WHARF_DATA_DIR', 'WHARF_ARTIFACTS'] as const),
  ...(['WHARF_SECRET_KEY', 'WHARF_BACKUP_KEY'] as const),
]
const OF_CLIENTS: readonly Variable[] = ['WHARF_PROJECT', 'WHARF_TOKEN', 'WHARF_DATA_DIR', 'WHARF_PROFILES']
const TAKES_ADDRESS = /^(data:(export|import|transfer)|(project|stage):attach)$/
const OF_NONE = ['completion', 'data:verify']

function variablesOf(command: string): readonly Variable[] {
  if (OF_NONE.includes(command)) return []
  if (!command.includes(':')) return OF_SERVICE
  if (command === 'profile:add') return ['WHARF_PROFILES', 'WHARF_TOKEN']
  if (command.startsWith('profile:')) return ['WHARF_PROFILES']
  return TAKES_ADDRESS.test(command) ? [...OF_CLIENTS, 'PGPASSWORD'] : OF_CLIENTS
}

function textOf(variables: readonly Variable[]): string {
  const width = Math.max(...variables.map((name) => name.length))
  return ['', 'Variables:', ...variables.map((name) => `  ${name.padEnd(width)}  ${MEANINGS[name]}`)].join('\n')
}

/** Has the help of each command, and that of the program, name the variables of the environment that count most. */
export function addVariables(program: Command): void {
  for (const command of program.commands) {
    const variables = variablesOf(command.name())
    if (variables.length > 0) command.addHelpText('after', textOf(variables))
  }
  const all = [...new Set([...OF_CLIENTS, 'PGPASSWORD', ...OF_SERVICE] as const)]
  program.addHelpText(
    'after',
    `${textOf(all)}\n  .env.example has all. start, api, worker, doctor, status, backup and recover read .env, too.`,
  )
}
