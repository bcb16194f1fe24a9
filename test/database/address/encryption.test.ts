import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parsePostgresAddress } from '../../../src/database/address/parse-address.ts'
import { reachServer } from '../../../src/database/address/reach-server.ts'
import { resolveAddress } from '../../../src/database/address/resolve-address.ts'
import { createPool } from '../../../src/database/pool.ts'
import { createLogger } from '../../../src/logger.ts'
import { canMakeCertificates } from '../../support/servers/certificates.ts'
import { installedPrograms } from '../../support/servers/installed-programs.ts'
import { PASSPHRASE, PASSWORD, startTlsCluster, type TlsCluster } from '../../support/servers/own-tls-cluster.ts'

const programs = installedPrograms()
const logger = createLogger('silent')

/** What a connection is like, and who the server says its client is. */
interface Session {
  readonly encrypted: boolean
  readonly version: string | null
  readonly login: string
}

describe.skipIf(programs === undefined || !canMakeCertificates)('a server with certificates', () => {
  let cluster: TlsCluster
  beforeAll(async () => {
    cluster = await startTlsCluster(programs ?? '')
  })
  afterAll(() => cluster?.remove())

  /** @param parameters with `{ca}` and the like for the files of certificates. */
  async function connect(login: string, parameters: string, password = ''): Promise<Session> {
    const { ca, otherCa, revoked, revokedNothing, client } = cluster.certificates
    const paths = { ca, otherCa, revoked, revokedNothing, ...client }
    const filled = parameters.replace(/\{(\w+)\}/g, (_, name: keyof typeof paths) => paths[name])
    const given = password && `:${encodeURIComponent(password)}`
    const address = parsePostgresAddress(
      `postgres://${login}${given}@localhost:${cluster.port}/postgres?hostaddr=127.0.0.1&${filled}`,
    )
    const choice = await resolveAddress(address, { mayNameFiles: true })
    const server = await reachServer(choice, { applicationName: 'test', logger })
    const pool = createPool(server, { maxConnections: 1, session: 'attached', applicationName: 'test' }, logger)
    onTestFinished(() => pool.end())
    const { rows } = await pool.query<Session>(
      `SELECT ssl AS encrypted, version, current_user::text AS login FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
    )
    if (!rows[0]) throw new Error('a session of no kind')
    return rows[0]
  }

  const TLS = { encrypted: true }
  const PLAIN = { encrypted: false }

  test.each([
    ['either', '', TLS],
    ['tls_only', '', TLS],
    ['plain_only', '', PLAIN],
    ['either', 'sslmode=disable', PLAIN],
    ['either', 'sslmode=allow', PLAIN],
    ['tls_only', 'sslmode=allow', TLS],
    ['plain_only', 'sslmode=allow', PLAIN],
    ['either', 'sslmode=require', TLS],
    ['either', 'ssl=true', TLS],
    ['either', 'sslmode=require&sslrootcert={ca}', TLS],
    ['either', 'sslmode=verify-ca&sslrootcert={ca}', TLS],
    ['either', 'sslmode=verify-ca&sslrootcert={ca}&host=elsewhere.example', TLS],
    ['either', 'sslmode=verify-full&sslrootcert={ca}', TLS],
    ['either', 'sslmode=verify-full&sslrootcert={ca}&host=db.example', TLS],
    ['either', 'sslmode=verify-full&sslrootcert={ca}&sslcrl={revokedNothing}', TLS],
    ['either', 'sslrootcert={otherCa}', PLAIN],
    ['either', 'sslmode=require&ssl_max_protocol_version=TLSv1.2', { ...TLS, version: 'TLSv1.2' }],
    ['either', 'sslmode=require&ssl_min_protocol_version=TLSv1.3', { ...TLS, version: 'TLSv1.3' }],
    ['certified', 'sslmode=require&sslcert={cert}&sslkey={key}', { ...TLS, login: 'certified' }],
    [
      'certified',
      `sslmode=require&sslcert={cert}&sslkey={encryptedKey}&sslpassword=${encodeURIComponent(PASSPHRASE)}`,
      { ...TLS, login: 'certified' },
    ],
  ])('the login %s with "%s" connects as %o', async (login, parameters, session) => {
    expect(await connect(login, parameters)).toMatchObject({ login, ...session })
  })

  test.each([
    ['tls_only', 'sslmode=disable', 'no encryption'],
    ['plain_only', 'sslmode=require', 'SSL encryption'],
    ['either', 'sslmode=require&sslrootcert={otherCa}', 'its certificate is not trusted'],
    ['either', 'sslmode=verify-ca&sslrootcert={otherCa}', 'its certificate is not trusted'],
    ['either', 'sslmode=verify-full&sslrootcert=system', 'its certificate is not trusted'],
    ['either', 'sslrootcert=system', 'its certificate is not trusted'],
    ['either', 'sslmode=verify-full&sslrootcert={ca}&host=elsewhere.example', 'its certificate is for another name'],
    ['either', 'sslmode=verify-ca&sslrootcert={ca}&sslcrl={revoked}', 'its certificate has been revoked'],
    ['certified', 'sslmode=require', 'certificate'],
    ['certified', 'sslmode=require&sslcert={cert}&sslkey={key}&sslcertmode=disable', 'certificate'],
    ['certified', 'sslmode=require&sslcert={cert}&sslkey={encryptedKey}', 'sslpassword'],
    ['certified', 'sslmode=require&sslcert={cert}&sslkey={ca}', 'sslkey'],
    ['nobody', '', 'nobody'],
    ['either', 'dbname=missing', '"missing" does not exist'],
    ['either', 'port=1', 'nothing listens there'],
    ['either', 'hostaddr=&host=missing.invalid', /no host of this name|could not be looked up/],
  ])('the login %s with "%s" does not connect: %s', async (login, parameters, message) => {
    await expect(connect(login, parameters)).rejects.toThrow(message)
  })

  test.each(['scram', 'hashed', 'clear'])('a password is given, or missed, by the login %s', async (login) => {
    expect(await connect(login, '', PASSWORD)).toMatchObject({ login, ...TLS })
    expect(await connect(login, 'sslmode=disable', PASSWORD)).toMatchObject({ login, ...PLAIN })
    await expect(connect(login, '')).rejects.toMatchObject({
      code: 'WRONG_USE',
      message: expect.stringMatching(/^postgres:\/\/.* asks for a password/),
    })
    const refused = connect(login, '', 'wrong-secret')
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow('password authentication failed')
    await expect(refused).rejects.not.toThrow('wrong-secret')
  })

  test('a Unix socket is connected to without encryption, whatever sslmode says', async () => {
    const parameters = `host=${encodeURIComponent(cluster.socketFolder)}&hostaddr=&sslmode=require`
    expect(await connect('either', parameters)).toMatchObject(PLAIN)
    await expect(connect('tls_only', parameters)).rejects.toThrow('no pg_hba.conf entry')
    const elsewhere = parameters.replace('=%2F', '=%2Fmissing')
    await expect(connect('either', elsewhere)).rejects.toThrow('there is no socket of a server in that folder')
  })

  test('channel binding is demanded where the address says so', async () => {
    expect(await connect('scram', 'channel_binding=require', PASSWORD)).toMatchObject(TLS)
    for (const [login, parameters] of [
      ['scram', 'sslmode=disable'],
      ['hashed', 'sslmode=require'],
      ['clear', 'sslmode=require'],
      ['either', 'sslmode=require'],
    ] as const) {
      const refused = connect(login, `channel_binding=require&${parameters}`, PASSWORD)
      await expect(refused, login).rejects.toThrow('does not authenticate with channel binding')
    }
  })

  test('a password is asked for where the server wants one, and not elsewhere', async () => {
    const asked: string[] = []
    const reach = async (login: string): Promise<string | undefined> => {
      const address = parsePostgresAddress(`postgres://${login}@127.0.0.1:${cluster.port}/postgres`)
      const askPassword = async (name: string): Promise<string> => {
        asked.push(name)
        return PASSWORD
      }
      const choice = await resolveAddress(address)
      return (await reachServer(choice, { applicationName: 'test', logger, askPassword })).password
    }
    expect([await reach('either'), await reach('scram')]).toEqual([undefined, PASSWORD])
    expect(asked).toEqual([`postgres://scram@127.0.0.1:${cluster.port}/postgres`])
  })
})
