import pg from 'pg'
import { forgetResults, giveByteText } from '../lib/runtime.ts'
import type { Logger } from '../logger.ts'
import { assertKnownVersion } from './assert-known-version.ts'
import { demandChannelBinding, type ServerMessages } from './channel-binding.ts'
import { type ConnectionTarget, clientConfigOf } from './client-config.ts'
import { forgetKeptStatements } from './kept-statements.ts'
import type { TimedQuery } from './prepared-query.ts'
import { CLIENT_CHECK, type SessionKind, sessionSettings } from './session-settings.ts'
import { SQLSTATE, sqlState } from './sqlstate.ts'
import { followUnnamedStatement } from './unnamed-statement.ts'

export interface SessionOptions {
  readonly kind: SessionKind
  /** Whether it gives byte text, as exports need it. */
  readonly givesByteText?: boolean | undefined
  /** Learns of a session that ended or broke, whatever it was doing; the statement that ran in it fails besides. */
  onEnd(error: Error): void
}

export interface SingleSessionOptions {
  readonly kind: SessionKind
  /** What PostgreSQL calls it. */
  readonly applicationName: string
  readonly connectTimeoutMs?: number
  /** Whether to encrypt, where the connection string does not say. */
  readonly ssl?: boolean
  readonly logger: Logger
}

const CONNECT_TIMEOUT_MS = 10_000

/** What PostgreSQL says of itself at the beginning of a session. */
interface ParameterStatus {
  readonly parameterName: string
  readonly parameterValue: string
}

type Callback = (error: Error | null) => void

/**
 * A connection to PostgreSQL, as every one of Wharf's is: it counts as connected when it has its settings, and somebody
 * listens for the end of its session for as long as it lives. Unheard, that event would end the process.
 */
export class SessionClient extends pg.Client {
  readonly kind: SessionKind
  readonly #timeoutMs: number | undefined
  #version = ''
  #canCheckClient = true

  constructor(config: pg.ClientConfig, { kind, givesByteText = false, onEnd }: SessionOptions) {
    super(config)
    this.kind = kind
    this.#timeoutMs = config.connectionTimeoutMillis
    this.on('error', onEnd)
    forgetResults(this)
    if (givesByteText) giveByteText(this)
    const parameters: unknown = Reflect.get(this, 'connectionParameters')
    // Never `PGOPTIONS`, which is meant for other programs.
    Object.assign(parameters ?? {}, { options: config.options })
    const connection = connectionOf(this)
    followUnnamedStatement(Reflect.get(this, 'connection'))
    if (config.enableChannelBinding) demandChannelBinding(connection)
    connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_version') this.#version = parameterValue
    })
  }

  override connect(): Promise<pg.Client>
  override connect(callback: Callback): void
  override connect(callback?: Callback): Promise<pg.Client> | undefined {
    const connected = this.#connect()
    if (!callback) return connected
    connected.then(
      () => callback(null),
      (error: Error) => callback(error),
    )
    return undefined
  }

  /**
   * Makes the session what it was at its beginning, after a project's own code has run in it, which may have left
   * anything behind: settings, tables that shadow others, locks. What a transaction did that was rolled back is gone
   * without it, apart from locks.
   */
  async reset(): Promise<void> {
    await this.query(
      'CLOSE ALL; UNLISTEN *; RESET ALL; DISCARD TEMP; DEALLOCATE ALL; SELECT pg_catalog.pg_advisory_unlock_all()',
    )
    // `pg` keeps the names of what it has prepared, and prepares it again where they are not there. So do we.
    Reflect.set(Reflect.get(this, 'connection'), 'parsedStatements', {})
    forgetKeptStatements(this)
    await this.#applySettings()
  }

  async #applySettings(): Promise<void> {
    if (this.kind === 'bare') return
    const settings = sessionSettings(this.kind, this.#version)
    if (this.#canCheckClient) {
      // One message: a round trip more would be one more for every write.
      const isTaken = await this.#queryInTime(`${settings}; ${CLIENT_CHECK}`).then(() => true, unlessInvalid)
      if (isTaken) return
      this.#canCheckClient = false
    }
    await this.#queryInTime(settings)
  }

  async #queryInTime(text: string): Promise<void> {
    const timed: TimedQuery = { text, query_timeout: this.#timeoutMs }
    await this.query(timed)
  }

  async #connect(): Promise<pg.Client> {
    await super.connect().catch((error: unknown) => {
      // A failure on this side, such as a password that is missing, leaves the server waiting for more.
      connectionOf(this).stream.destroy()
      throw error
    })
    try {
      // Others take what they are given, or are asked by `prepareDatabase`; here, settings would fail that it lacks.
      if (this.kind === 'attached' || this.kind === 'bare') assertKnownVersion(this.#version)
      await this.#applySettings()
    } catch (error) {
      // A caller that gets an error instead of a connection does not close it.
      void Promise.allSettled([this.end()])
      throw error
    }
    return this
  }
}

const connectionOf = (client: pg.Client): ServerMessages => Reflect.get(client, 'connection')

function unlessInvalid(error: unknown): false {
  if (sqlState(error) === SQLSTATE.invalidParameterValue) return false
  throw error
}

/** Whether it is a session of a project's login, on its stages. */
export const isOfProject = (client: pg.ClientBase): boolean =>
  client instanceof SessionClient && client.kind === 'project'

/** @see SessionClient.reset @throws where the connection is none of Wharf's, or broke. */
export async function resetSession(client: pg.ClientBase): Promise<void> {
  if (!(client instanceof SessionClient)) throw new Error('this connection was not opened by Wharf')
  await client.reset()
}

/**
 * Opens a session that is in no pool; its user ends it.
 *
 * @param options.connectTimeoutMs how long that may take.
 */
export async function openSession(
  target: ConnectionTarget,
  { kind, applicationName, connectTimeoutMs = CONNECT_TIMEOUT_MS, ssl, logger }: SingleSessionOptions,
): Promise<pg.Client> {
  const config: pg.ClientConfig = {
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    ...clientConfigOf(target),
  }
  const onEnd = (error: Error): void => logger.debug({ err: error, session: applicationName }, 'a session ended')
  const client = new SessionClient(ssl === undefined ? config : { ...config, ssl }, { kind, onEnd })
  await client.connect()
  return client
}
