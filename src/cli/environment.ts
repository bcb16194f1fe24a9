import type { Readable, Writable } from 'node:stream'
import type { Config } from '../config.ts'
import type { AddressEnvironment } from '../database/address/environment.ts'
import type { NpmOptions } from './npm-options.ts'

/** A service that runs inside the command's own process. */
export interface EmbeddedService {
  /** Where its HTTP interface listens. */
  readonly url: string
  readonly rootToken: string
  close(): Promise<void>
}

/** All that the command line needs of the world around it. */
export interface CliEnvironment {
  /** Reads the configuration; called by commands that need it only, so `--help` works with any. */
  loadConfig(): Promise<Config>
  /** The same for a service that is to be run, or looked at, which reads `.env` of the current folder as well. */
  loadServiceConfig(): Promise<Config>
  /** Whether the current folder has an `.env`, which commands do not read. */
  readonly hasEnvironmentFile: boolean
  /**
   * Starts the whole service inside this process.
   *
   * @throws {AppError} DATA_FOLDER_IN_USE where another process has the data folder.
   */
  startService(config: Config, options: { readonly quiet: boolean }): Promise<EmbeddedService>
  /**
   * `wharf start`, `wharf api` and `wharf worker`: runs until a signal, which it listens for itself.
   *
   * @param part all that the service does where it is undefined.
   * @returns the exit code.
   */
  runService(config: Config, part: 'api' | 'worker' | undefined): Promise<number>
  /** Where the address of a database gets from what it leaves out, as for psql. */
  readAddressEnvironment(): Promise<AddressEnvironment>
  /** Options that npm took instead of handing them on. */
  readonly npmOptions: NpmOptions
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly version: string
}

/** What a command works with. */
export interface CommandContext {
  readonly environment: CliEnvironment
  /** Aborted by Ctrl-C and by SIGTERM. */
  readonly signal: AbortSignal
}
