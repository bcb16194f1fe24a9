import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino'
import type { LogLevel } from './config.ts'

export type Logger = PinoLogger

/** Paths that never reach the log, whoever logs the object. */
const NEVER_LOGGED = [
  'authorization',
  '*.authorization',
  'headers.authorization',
  'req.headers.authorization',
  'token',
  '*.token',
  'password',
  '*.password',
  'dsn',
  '*.dsn',
  'connectionString',
  '*.connectionString',
  'databaseUrl',
  'config.databaseUrl',
  'rootToken',
  'config.rootToken',
  'secretKey',
  'config.secretKey',
]

/** Creates the service's logger: one JSON object per line, to standard error unless a destination is given. */
export function createLogger(level: LogLevel, destination: DestinationStream = pino.destination(2)): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: NEVER_LOGGED, censor: '[hidden]' },
    },
    destination,
  )
}
