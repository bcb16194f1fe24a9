import { join, resolve } from 'node:path'
import { z } from 'zod'
import { AppError } from './errors.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A project's or a stage's name: part of URLs, of file names and of PostgreSQL schema names. */
export const SLUG_PATTERN = /^[a-z][a-z0-9_-]{0,62}$/

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
  WHARF_TOKEN: z.string().optional(),
  WHARF_ARTIFACTS: z.string().optional(),
  WHARF_ARTIFACT_DAYS: integer(1, 3650, 7),
  WHARF_TRANSFER_HOSTS: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,]+/).filter((host) => host !== ''))
    .refine((hosts) => hosts.every((host) => HOST_PATTERN.test(host)), {
      error: 'must be hosts, each with a port or without, with commas between them',
    }),
  WHARF_UNDO_HOURS: integer(0, 8760, 24),
  WHARF_MAX_LINE_BYTES: integer(1024, 1024 * 1024 * 1024, 64 * 1024 * 1024),
  WHARF_QUERY_TIMEOUT_MS: integer(1, 3_600_000, 10_000),
  WHARF_MAX_ROWS: integer(1, 1_000_000, 10_000),
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
  /** Undefined: made at the first start and kept in the data folder. */
  readonly rootToken: string | undefined
  /** The local project: what a missing argument, or `.`, means on the command line. */
  readonly project: string
  /** Undefined: made at the first start and kept in the data folder. */
  readonly secretKey: string | undefined
  /** Token for a DSN that carries none. */
  readonly token: string | undefined
  /** Where archives of jobs are kept: a folder's absolute path, or `s3://bucket/prefix`. */
  readonly artifacts: string
  /** How long archives of jobs without a schedule are kept. */
  readonly artifactDays: number
  /** The hosts, each with a port or without, that a transfer may reach. */
  readonly transferHosts: readonly string[]
  /** How long what an import replaced is kept for `undo`; 0 keeps nothing. */
  readonly undoHours: number
  /** The longest line of an archive that an import reads. */
  readonly maxLineBytes: number
  /** How long a statement of the content endpoint may take. */
  readonly queryTimeoutMs: number
  /** How many rows the content endpoint gives at once. */
  readonly maxRows: number
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
    rootToken: values.WHARF_ROOT_TOKEN,
    project: values.WHARF_PROJECT,
    secretKey: values.WHARF_SECRET_KEY,
    token: values.WHARF_TOKEN,
    artifacts: toLocation(values.WHARF_ARTIFACTS ?? join(values.WHARF_DATA_DIR, 'artifacts')),
    artifactDays: values.WHARF_ARTIFACT_DAYS,
    transferHosts: values.WHARF_TRANSFER_HOSTS,
    undoHours: values.WHARF_UNDO_HOURS,
    maxLineBytes: values.WHARF_MAX_LINE_BYTES,
    queryTimeoutMs: values.WHARF_QUERY_TIMEOUT_MS,
    maxRows: values.WHARF_MAX_ROWS,
    logLevel: values.WHARF_LOG_LEVEL,
  })
}

/** Paths are made absolute; what looks like a URL is left to whoever opens it. */
const toLocation = (text: string): string => (/^[a-z0-9+.-]{2,}:\/\//i.test(text) ? text : resolve(text))
