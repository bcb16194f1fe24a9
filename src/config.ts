import { isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { AppError } from './errors.ts'
import { isAddressRange } from './lib/address-range.ts'
import { RUNTIME_CHANGES, type RuntimeChange } from './lib/runtime.ts'
import { SLUG_PATTERN } from './lib/slug.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const url = (protocols: readonly string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    error: `must be a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  })

const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/, { error: `must be a whole number from ${min} to ${max}` })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })
    .default(fallback)

const list = z
  .string()
  .default('')
  .transform((text) => text.split(/[\s,]+/).filter((item) => item !== ''))

/** A host as a URL has it, lower case, IPv6 in brackets, perhaps with a port. */
const HOST_PATTERN = /^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/

/** The variables that Wharf reads; `.env.example` explains each. */
const environmentSchema = z.object({
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  WHARF_HOST: z.string().default('127.0.0.1'),
  WHARF_PORT: integer(0, 65_535, 4000),
  WHARF_DATA_DIR: z.string().default('.wharf'),
  WHARF_ROOT_TOKEN: z.string().min(32, { error: 'must have at least 32 characters' }).optional(),
  WHARF_PROJECT: z
    .string()
    .regex(SLUG_PATTERN, { error: 'must be a project slug: a lower-case letter, then letters, digits, "-" or "_"' })
    .default('demo'),
  WHARF_SECRET_KEY: z.string().min(32, { error: 'must have at least 32 characters' }).optional(),
  WHARF_SECRET_KEY_PREVIOUS: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,]+/).filter((key) => key !== ''))
    .refine((keys) => keys.every((key) => key.length >= 32), {
      error: 'must be keys of at least 32 characters, with commas between them',
    }),
  WHARF_TOKEN: z.string().optional(),
  WHARF_ARTIFACTS: z.string().optional(),
  WHARF_ARTIFACT_DAYS: integer(1, 3650, 7),
  WHARF_ARTIFACT_CHECK_DAYS: integer(0, 3650, 7),
  WHARF_TRANSFER_HOSTS: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,]+/).filter((host) => host !== ''))
    .refine((hosts) => hosts.every((host) => HOST_PATTERN.test(host)), {
      error: 'must be hosts, each with a port or without, with commas between them',
    }),
  WHARF_TRUSTED_PROXIES: list.refine((ranges) => ranges.every(isAddressRange), {
    error: 'must be IP addresses, or ranges like 10.0.0.0/8, with commas between them',
  }),
  WHARF_MAX_CONNECTIONS: integer(0, 1_000_000, 1_000),
  WHARF_MAX_FAILED_LOGINS: integer(0, 1_000_000, 1_000),
  WHARF_MAX_REQUESTS: integer(0, 1_000_000_000, 300_000),
  WHARF_UNDO_HOURS: integer(0, 8760, 24),
  WHARF_UPLOAD_SECONDS: integer(1, 86_400, 600),
  WHARF_UPLOAD_BYTES_PER_SECOND: integer(1, 1024 * 1024 * 1024, 8192),
  WHARF_MAX_LINE_BYTES: integer(1024, 1024 * 1024 * 1024, 64 * 1024 * 1024),
  WHARF_MAX_STRUCTURE_LINE_BYTES: integer(1024, 1024 * 1024 * 1024, 2 * 1024 * 1024),
  WHARF_SPOOL_RESERVE_BYTES: integer(0, Number.MAX_SAFE_INTEGER, 1024 * 1024 * 1024),
  WHARF_QUERY_TIMEOUT_MS: integer(1, 3_600_000, 10_000),
  WHARF_MAX_ROWS: integer(1, 1_000_000, 10_000),
  WHARF_SCHEMA_LOCK_SECONDS: integer(1, 3_600, 60),
  WHARF_STALLED_READER_SECONDS: integer(1, 86_400, 120),
  WHARF_READER_BYTES_PER_SECOND: integer(1, 1024 * 1024 * 1024, 4096),
  WHARF_TURN_WAIT_MS: integer(0, 600_000, 10_000),
  WHARF_PROJECT_CONNECTIONS: integer(0, 10_000, 0),
  WHARF_RUNTIME_OFF: list.pipe(
    z.array(z.enum(RUNTIME_CHANGES, { error: `must be of ${RUNTIME_CHANGES.join(', ')}, with commas between them` })),
  ),
  WHARF_LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
})

/** The names of all variables that Wharf reads. */
export const VARIABLES: readonly string[] = Object.keys(environmentSchema.shape)

export interface Config {
  /** PostgreSQL to use; undefined: the embedded one. */
  readonly databaseUrl: string | undefined
  /** Redis for the queue and for answers that processes share; undefined: PostgreSQL, and each process's memory. */
  readonly redisUrl: string | undefined
  readonly host: string
  /** 0 lets the system choose a port. */
  readonly port: number
  /** Absolute path of the folder that keeps the embedded database, archives and local secrets. */
  readonly dataDir: string
  /** Absolute path of the folder where this user's programs keep their state; undefined where there is no such one. */
  readonly stateDir: string | undefined
  /** Undefined: made at the first start and kept in the data folder. */
  readonly rootToken: string | undefined
  /** The local project: what a missing argument, or `.`, means on the command line. */
  readonly project: string
  /** Undefined: made at the first start and kept in the data folder. */
  readonly secretKey: string | undefined
  /** Other keys, which may have sealed what is stored. */
  readonly previousSecretKeys: readonly string[]
  /** Token for a DSN that carries none. */
  readonly token: string | undefined
  /** Where archives of jobs are kept: a folder's absolute path, or `s3://bucket/prefix`. */
  readonly artifacts: string
  /** How long archives of jobs without a schedule are kept. */
  readonly artifactDays: number
  /** After how many days a kept archive is read again, to see that its bytes have not changed; 0 never. */
  readonly artifactCheckDays: number
  /** The hosts, each with a port or without, that a transfer may reach. */
  readonly transferHosts: readonly string[]
  /** Addresses, and ranges of them, of the proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  /** How many connections one address may have at once; 0 for any number. */
  readonly maxConnections: number
  /** How many unknown tokens one address may try in a minute; 0 for any number. */
  readonly maxFailedLogins: number
  /** How many requests may be made with one token in a minute; 0 for any number. */
  readonly maxRequests: number
  /** How long what an import replaced is kept for `undo`; 0 keeps nothing. */
  readonly undoHours: number
  /** How long an upload of any size may keep us waiting for it, in milliseconds. */
  readonly uploadMs: number
  /** What has to arrive of an upload on average for it to take longer than that. */
  readonly uploadBytesPerSecond: number
  /** The longest line of an archive that an import reads: a row. An event may have half as much. */
  readonly maxLineBytes: number
  /** The longest of those that are neither rows nor events. */
  readonly maxStructureLineBytes: number
  /** How many bytes an import leaves free on the disk where it keeps its rows; 0 lets it fill the disk. */
  readonly spoolReserveBytes: number
  /** How long a statement of the content endpoint may take. */
  readonly queryTimeoutMs: number
  /** How many rows the content endpoint gives at once. */
  readonly maxRows: number
  /** How long a change of structure is tried whose tables others hold. */
  readonly schemaLockSeconds: number
  /** After how long an answer is broken off of which its reader has taken nothing. */
  readonly stalledReaderSeconds: number
  /** What the reader of a streamed answer has to take on average. */
  readonly readerBytesPerSecond: number
  /** How long a request waits for its turn where its project has too much under way, in milliseconds. */
  readonly turnWaitMs: number
  /** How many sessions each project's login may have; 0 lets the server's `max_connections` decide. */
  readonly projectConnections: number
  /** Changes of the runtime that are left out. */
  readonly runtimeOff: readonly RuntimeChange[]
  readonly logLevel: LogLevel
}

/**
 * Reads the configuration from environment variables. A variable that is set to nothing counts as missing.
 *
 * @param environment normally `process.env`; nothing else of Wharf reads that.
 * @returns a frozen value; relative paths are made absolute against the current folder.
 * @throws {AppError} CONFIG_INVALID, with every variable that is wrong, by name, and never with its value.
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const present = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  const parsed = environmentSchema.safeParse(present)
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => ({ detail: `${issue.path.join('.')} ${issue.message}` }))
    throw new AppError('CONFIG_INVALID', 'the configuration is not usable', { faults })
  }
  const values = parsed.data
  return Object.freeze({
    databaseUrl: values.DATABASE_URL,
    redisUrl: values.REDIS_URL,
    host: values.WHARF_HOST,
    port: values.WHARF_PORT,
    dataDir: resolve(values.WHARF_DATA_DIR),
    stateDir: stateFolder(present),
    rootToken: values.WHARF_ROOT_TOKEN,
    project: values.WHARF_PROJECT,
    secretKey: values.WHARF_SECRET_KEY,
    previousSecretKeys: values.WHARF_SECRET_KEY_PREVIOUS,
    token: values.WHARF_TOKEN,
    artifacts: toLocation(values.WHARF_ARTIFACTS ?? join(values.WHARF_DATA_DIR, 'artifacts')),
    artifactDays: values.WHARF_ARTIFACT_DAYS,
    artifactCheckDays: values.WHARF_ARTIFACT_CHECK_DAYS,
    transferHosts: values.WHARF_TRANSFER_HOSTS,
    trustedProxies: values.WHARF_TRUSTED_PROXIES,
    maxConnections: values.WHARF_MAX_CONNECTIONS,
    maxFailedLogins: values.WHARF_MAX_FAILED_LOGINS,
    maxRequests: values.WHARF_MAX_REQUESTS,
    undoHours: values.WHARF_UNDO_HOURS,
    uploadMs: values.WHARF_UPLOAD_SECONDS * 1_000,
    uploadBytesPerSecond: values.WHARF_UPLOAD_BYTES_PER_SECOND,
    maxLineBytes: values.WHARF_MAX_LINE_BYTES,
    maxStructureLineBytes: values.WHARF_MAX_STRUCTURE_LINE_BYTES,
    spoolReserveBytes: values.WHARF_SPOOL_RESERVE_BYTES,
    queryTimeoutMs: values.WHARF_QUERY_TIMEOUT_MS,
    maxRows: values.WHARF_MAX_ROWS,
    schemaLockSeconds: values.WHARF_SCHEMA_LOCK_SECONDS,
    stalledReaderSeconds: values.WHARF_STALLED_READER_SECONDS,
    readerBytesPerSecond: values.WHARF_READER_BYTES_PER_SECOND,
    turnWaitMs: values.WHARF_TURN_WAIT_MS,
    projectConnections: values.WHARF_PROJECT_CONNECTIONS,
    runtimeOff: values.WHARF_RUNTIME_OFF,
    logLevel: values.WHARF_LOG_LEVEL,
  })
}

/** @see https://specifications.freedesktop.org/basedir-spec/latest, by which a path that is relative does not count. */
function stateFolder({ XDG_STATE_HOME, HOME, LOCALAPPDATA }: Readonly<Record<string, string | undefined>>) {
  const home = HOME && join(HOME, '.local', 'state')
  const candidates = process.platform === 'win32' ? [LOCALAPPDATA] : [XDG_STATE_HOME, home]
  return candidates.find((path) => path !== undefined && isAbsolute(path))
}

/** Paths are made absolute; what looks like a URL is left as it is. */
const toLocation = (text: string): string => (/^[a-z0-9+.-]{2,}:\/\//i.test(text) ? text : resolve(text))
