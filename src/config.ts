import { isIP } from 'node:net'
import { isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { EVERY_PUBLIC_HOST } from './allowed-hosts.ts'
import { AppError, type Fault } from './errors.ts'
import { isAddressRange } from './lib/address-range.ts'
import { REDIS_PORT, type RedisAddress } from './lib/redis.ts'
import { RUNTIME_CHANGES } from './lib/runtime.ts'
import { SLUG_PATTERN } from './lib/slug.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const url = (protocols: readonly string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    error: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  })

const origin = z
  .string()
  .transform((text) => text.replace(/\/$/, ''))
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text, {
    error: 'must be https:// or http:// and a host, perhaps with a port, and nothing behind them',
  })

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, { error: `must be a whole number from ${min} to ${max}` })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })

const integer = (min: number, max: number, fallback: number) => wholeNumber(min, max).default(fallback)

const list = z
  .string()
  .default('')
  .transform((text) => text.split(/[\s,]+/).filter((item) => item !== ''))

const secret = z.string().min(32, { error: 'must have at least 32 characters' }).optional()

/** A host as a URL has it, lower case, IPv6 in brackets, perhaps with a port. */
const HOST_PATTERN = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/

const HOST_NAME_PATTERN = /^[a-z0-9]([a-z0-9_.-]*[a-z0-9])?\.?$/i

/** The most that `WHARF_HELPING_SESSIONS` may say. */
export const MAX_HELPING_SESSIONS = 1_000

const setting = <Schema extends z.ZodType>(variable: string, schema: Schema) => ({ variable, schema })

/** The port that Sentinels have by default. */
const SENTINEL_PORT = 26_379

/** Hosts, each with a port or on this one. */
const hosts = (defaultPort: number) =>
  list
    .refine((texts) => texts.every((text) => HOST_PATTERN.test(text)), {
      error: 'must be hosts, each with a port or without, with commas between them',
    })
    .transform((texts) =>
      texts.map((text) => {
        const { hostname, port } = new URL(`redis://${text}`)
        return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
      }),
    )

/** What a variable sets, by its name in the configuration; `.env.example` explains each. */
const SETTINGS = {
  /** PostgreSQL to use; undefined: the embedded one. */
  databaseUrl: setting('DATABASE_URL', url(['postgres:', 'postgresql:']).optional()),
  /** Redis for the queue and for answers that processes share; undefined: PostgreSQL, and each process's memory. */
  redisUrl: setting('REDIS_URL', url(['redis:', 'rediss:']).optional()),
  /** The Sentinels that say which Redis is the primary; none where `REDIS_URL` names a server. */
  redisSentinels: setting('WHARF_REDIS_SENTINELS', hosts(SENTINEL_PORT)),
  redisSentinelPassword: setting('WHARF_REDIS_SENTINEL_PASSWORD', z.string().optional()),
  /** Nodes of the cluster that `REDIS_URL` names a node of; none where it is a server for itself. */
  redisCluster: setting('WHARF_REDIS_CLUSTER', hosts(REDIS_PORT)),
  host: setting(
    'WHARF_HOST',
    z
      .string()
      .refine((host) => isIP(host) !== 0 || HOST_NAME_PATTERN.test(host), {
        error: 'must be an IP address or the name of a host, without a port: 127.0.0.1, or 0.0.0.0 for all addresses',
      })
      .default('127.0.0.1'),
  ),
  /** 0 lets the system choose a port. */
  port: setting('WHARF_PORT', integer(0, 65_535, 4000)),
  /** Where a process that only works on jobs says how it is; undefined: nowhere. */
  metricsPort: setting('WHARF_METRICS_PORT', wholeNumber(0, 65_535).optional()),
  /** Absolute path of the folder that keeps the embedded database, archives and local secrets. */
  dataDir: setting(
    'WHARF_DATA_DIR',
    z
      .string()
      .default('.wharf')
      .transform((path) => resolve(path)),
  ),
  /** Undefined: made at the first start and kept in the data folder. */
  rootToken: setting('WHARF_ROOT_TOKEN', secret),
  /** The local project: what a missing argument, or `.`, means on the command line. */
  project: setting(
    'WHARF_PROJECT',
    z
      .string()
      .regex(SLUG_PATTERN, { error: 'must be a project slug: a lower-case letter, then letters, digits, "-" or "_"' })
      .default('demo'),
  ),
  /** Undefined: made at the first start and kept in the data folder. */
  secretKey: setting('WHARF_SECRET_KEY', secret),
  /** Other keys, which may have sealed what is stored. */
  previousSecretKeys: setting(
    'WHARF_SECRET_KEY_PREVIOUS',
    list.refine((keys) => keys.every((key) => key.length >= 32), {
      error: 'must be keys of at least 32 characters, with commas between them',
    }),
  ),
  /** The file of profiles; undefined: that of this user. */
  profiles: setting(
    'WHARF_PROFILES',
    z
      .string()
      .transform((path) => resolve(path))
      .optional(),
  ),
  /** Token for a DSN that carries none. */
  token: setting('WHARF_TOKEN', z.string().optional()),
  /** Where archives of jobs are kept: a folder's absolute path, or `s3://bucket/prefix`; undefined: in the data folder. */
  artifacts: setting('WHARF_ARTIFACTS', z.string().transform(toLocation).optional()),
  /** The origin at which clients reach the bucket of archives, and download them from it; undefined: they do not. */
  artifactsPublicUrl: setting('WHARF_ARTIFACTS_PUBLIC_URL', origin.optional()),
  /** How long archives of jobs without a schedule are kept. */
  artifactDays: setting('WHARF_ARTIFACT_DAYS', integer(1, 3650, 7)),
  /** After how many days a kept archive is read again, to see that its bytes have not changed; 0 never. */
  artifactCheckDays: setting('WHARF_ARTIFACT_CHECK_DAYS', integer(0, 3650, 7)),
  /** What backups of Wharf itself are encrypted with; undefined: there are none. */
  backupKey: setting('WHARF_BACKUP_KEY', z.string().min(16, { error: 'must have at least 16 characters' }).optional()),
  /** When they are written, by UTC; undefined: only when "wharf backup" is run. */
  backupCron: setting(
    'WHARF_BACKUP_CRON',
    z
      .string()
      .default('@daily')
      .transform((text) => (text === 'off' ? undefined : text)),
  ),
  /** How many of them are kept. */
  backupKeep: setting('WHARF_BACKUP_KEEP', integer(1, 10_000, 30)),
  /** The hosts, each with a port or without, that a transfer may reach. */
  transferHosts: setting(
    'WHARF_TRANSFER_HOSTS',
    list.refine((hosts) => hosts.every((host) => HOST_PATTERN.test(host)), {
      error: 'must be hosts, each with a port or without, with commas between them',
    }),
  ),
  /** The hosts that notifications may be sent to; `*` for all that are no addresses inside. */
  webhookHosts: setting(
    'WHARF_WEBHOOK_HOSTS',
    list
      .refine((hosts) => hosts.every((host) => host === EVERY_PUBLIC_HOST || HOST_PATTERN.test(host)), {
        error: `must be hosts, each with a port or without, or "${EVERY_PUBLIC_HOST}", with commas between them`,
      })
      .transform((hosts) => (hosts.length === 0 ? [EVERY_PUBLIC_HOST] : hosts)),
  ),
  /** Where the interface is for those who get notifications, without a slash at its end. */
  publicUrl: setting(
    'WHARF_PUBLIC_URL',
    url(['http:', 'https:'])
      .transform((text) => text.replace(/\/+$/, ''))
      .optional(),
  ),
  /** The server that takes mail, with login and password where it needs them; undefined: none is sent. */
  smtpUrl: setting('WHARF_SMTP_URL', url(['smtp:', 'smtps:']).optional()),
  /** The address that mail is from. */
  mailFrom: setting(
    'WHARF_MAIL_FROM',
    z
      .string()
      .regex(/^[^\s@<>]+@[^\s@<>]+$/, { error: 'must be an address of mail: wharf@example.org' })
      .optional(),
  ),
  /** The extensions that scripts and archives may make; undefined: those that PostgreSQL trusts. */
  extensions: setting(
    'WHARF_EXTENSIONS',
    z
      .string()
      .transform((text) => (text === 'none' ? [] : text.split(/[\s,]+/).filter((name) => name !== '')))
      .optional(),
  ),
  /** Addresses, and ranges of them, of the proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: setting(
    'WHARF_TRUSTED_PROXIES',
    list.refine((ranges) => ranges.every(isAddressRange), {
      error: 'must be IP addresses, or ranges like 10.0.0.0/8, with commas between them',
    }),
  ),
  /** How many connections one address may have at once; 0 for any number. */
  maxConnections: setting('WHARF_MAX_CONNECTIONS', integer(0, 1_000_000, 1_000)),
  /** How many unknown tokens one address may try in a minute; 0 for any number. */
  maxFailedLogins: setting('WHARF_MAX_FAILED_LOGINS', integer(0, 1_000_000, 1_000)),
  /** How many requests may be made with one token in a minute; 0 for any number. */
  maxRequests: setting('WHARF_MAX_REQUESTS', integer(0, 1_000_000_000, 300_000)),
  /** How long what an import replaced is kept for `undo`; 0 keeps nothing. */
  undoHours: setting('WHARF_UNDO_HOURS', integer(0, 8760, 24)),
  /** How many days events of the log are kept, unless a project says otherwise; 0 for ever. */
  logDays: setting('WHARF_EVENT_LOG_DAYS', integer(0, 36_500, 0)),
  /** How many events the log of each stage keeps, unless a project says otherwise; 0 any number. */
  logEvents: setting('WHARF_EVENT_LOG_EVENTS', integer(0, 1_000_000_000, 0)),
  /** How long an upload of any size may keep us waiting for it, in milliseconds. */
  uploadMs: setting(
    'WHARF_UPLOAD_SECONDS',
    integer(1, 86_400, 600).transform((seconds) => seconds * 1_000),
  ),
  /** What has to arrive of an upload on average for it to take longer than that. */
  uploadBytesPerSecond: setting('WHARF_UPLOAD_BYTES_PER_SECOND', integer(1, 1024 * 1024 * 1024, 8192)),
  /** The longest line of an archive that an import reads: a row. An event may have half as much. */
  maxLineBytes: setting('WHARF_MAX_LINE_BYTES', integer(1024, 1024 * 1024 * 1024, 64 * 1024 * 1024)),
  /** The longest of those that are neither rows nor events. */
  maxStructureLineBytes: setting('WHARF_MAX_STRUCTURE_LINE_BYTES', integer(1024, 1024 * 1024 * 1024, 2 * 1024 * 1024)),
  /** How many bytes an import leaves free on the disk where it keeps its rows; 0 lets it fill the disk. */
  spoolReserveBytes: setting('WHARF_SPOOL_RESERVE_BYTES', integer(0, Number.MAX_SAFE_INTEGER, 1024 * 1024 * 1024)),
  /** How long a statement of the content endpoint may take. */
  queryTimeoutMs: setting('WHARF_QUERY_TIMEOUT_MS', integer(1, 3_600_000, 10_000)),
  /** How many rows the content endpoint gives at once. */
  maxRows: setting('WHARF_MAX_ROWS', integer(1, 1_000_000, 10_000)),
  /** How long a change of structure is tried whose tables others hold. */
  schemaLockSeconds: setting('WHARF_SCHEMA_LOCK_SECONDS', integer(1, 3_600, 60)),
  /** After how long an answer is broken off of which its reader has taken nothing. */
  stalledReaderSeconds: setting('WHARF_STALLED_READER_SECONDS', integer(1, 86_400, 120)),
  /** What the reader of a streamed answer has to take on average. */
  readerBytesPerSecond: setting('WHARF_READER_BYTES_PER_SECOND', integer(1, 1024 * 1024 * 1024, 4096)),
  /** How long a request waits for its turn where its project has too much under way, in milliseconds. */
  turnWaitMs: setting('WHARF_TURN_WAIT_MS', integer(0, 600_000, 10_000)),
  /** How many sessions may help the exports of this process to read, all together; 0 for none. */
  helpingSessions: setting('WHARF_HELPING_SESSIONS', integer(0, MAX_HELPING_SESSIONS, 8)),
  /** How many sessions each project's login may have; 0 lets the server's `max_connections` decide. */
  projectConnections: setting('WHARF_PROJECT_CONNECTIONS', integer(0, 10_000, 0)),
  /** Changes of the runtime that are left out. */
  runtimeOff: setting(
    'WHARF_RUNTIME_OFF',
    list.pipe(
      z.array(z.enum(RUNTIME_CHANGES, { error: `must be of ${RUNTIME_CHANGES.join(', ')}, with commas between them` })),
    ),
  ),
  logLevel: setting(
    'WHARF_LOG_LEVEL',
    z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
  ),
}

/** The names of all variables that Wharf reads. */
export const VARIABLES: readonly string[] = Object.values(SETTINGS).map(({ variable }) => variable)

type Settings = { readonly [Name in keyof typeof SETTINGS]: Readonly<z.output<(typeof SETTINGS)[Name]['schema']>> }

export interface Config extends Settings {
  readonly artifacts: string
  /** Absolute path of the folder where this user's programs keep their state; undefined where there is no such one. */
  readonly stateDir: string | undefined
  /** Absolute path of the file that has this user's profiles; undefined where nothing says where that is. */
  readonly profilesFile: string | undefined
}

/**
 * Reads the configuration from environment variables. A variable that is set to nothing counts as missing.
 *
 * @param environment normally `process.env`; nothing else of Wharf reads that.
 * @returns a frozen value; relative paths are made absolute against the current folder.
 * @throws {AppError} CONFIG_INVALID, with every variable that is wrong, by name, and never with its value.
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const values: Record<string, unknown> = {}
  const faults: Fault[] = []
  for (const [name, { variable, schema }] of Object.entries(SETTINGS)) {
    const parsed = schema.safeParse(environment[variable] || undefined)
    values[name] = parsed.data
    for (const { path, message } of parsed.error?.issues ?? []) {
      faults.push({ detail: `${[variable, ...path].join('.')} ${message}` })
    }
  }
  if (environment.WHARF_REDIS_SENTINELS && environment.WHARF_REDIS_CLUSTER) {
    faults.push({ detail: 'WHARF_REDIS_SENTINELS and WHARF_REDIS_CLUSTER exclude each other' })
  }
  if (faults.length > 0) throw new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults })
  // The compiler does not follow that each name comes with what its own schema gives.
  const settings = values as Settings
  const { artifacts = join(settings.dataDir, 'artifacts') } = settings
  const profilesFile = settings.profiles ?? profilesFileOf(environment)
  return Object.freeze({ ...settings, artifacts, stateDir: stateFolder(environment), profilesFile })
}

export type RedisConfig = Pick<Config, 'redisUrl' | 'redisSentinels' | 'redisSentinelPassword' | 'redisCluster'>

/** Where Redis is; undefined where none is used. */
export const redisAddressOf = ({
  redisUrl: url,
  redisSentinels: sentinels,
  redisSentinelPassword: sentinelPassword,
  redisCluster: cluster,
}: RedisConfig): RedisAddress | undefined =>
  url === undefined ? undefined : { url, sentinels, sentinelPassword, cluster }

/** How mail is sent; undefined where none is. */
export const mailSettingsOf = ({
  smtpUrl,
  mailFrom,
}: Pick<Config, 'smtpUrl' | 'mailFrom'>): { readonly smtpUrl: string; readonly from: string } | undefined =>
  smtpUrl === undefined || mailFrom === undefined ? undefined : { smtpUrl, from: mailFrom }

/** @see https://specifications.freedesktop.org/basedir-spec/latest, by which a path that is relative does not count. */
function stateFolder({ XDG_STATE_HOME, HOME, LOCALAPPDATA }: Readonly<Record<string, string | undefined>>) {
  const home = HOME && join(HOME, '.local', 'state')
  const candidates = process.platform === 'win32' ? [LOCALAPPDATA] : [XDG_STATE_HOME, home]
  return candidates.find((path) => path !== undefined && isAbsolute(path))
}

/** @see https://specifications.freedesktop.org/basedir-spec/latest */
function profilesFileOf({ XDG_CONFIG_HOME, HOME, APPDATA }: Readonly<Record<string, string | undefined>>) {
  const candidates = process.platform === 'win32' ? [APPDATA] : [XDG_CONFIG_HOME, HOME && join(HOME, '.config')]
  const folder = candidates.find((path) => path !== undefined && isAbsolute(path))
  return folder && join(folder, 'wharf', 'profiles.json')
}

/** Paths are made absolute; what looks like a URL is left as it is. */
function toLocation(text: string): string {
  return /^[a-z0-9+.-]{2,}:\/\//i.test(text) ? text : resolve(text)
}
