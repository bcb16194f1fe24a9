import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Certificates, makeCertificates } from './certificates.ts'
import { type OwnCluster, startOwnCluster } from './own-cluster.ts'
import { query } from './sessions.ts'

export const PASSWORD = 'p/w@:?'
export const PASSPHRASE = 'pass phrase'

/** Logins by who may connect how; those that need a password have `PASSWORD`. */
const ACCESS = `
local all either trust
host all postgres,wharf 127.0.0.1/32 trust
hostssl all tls_only 127.0.0.1/32 trust
hostnossl all plain_only 127.0.0.1/32 trust
host all either 127.0.0.1/32 trust
host all scram 127.0.0.1/32 scram-sha-256
host all hashed 127.0.0.1/32 md5
host all clear 127.0.0.1/32 password
hostssl all certified 127.0.0.1/32 cert
`

export interface TlsCluster extends OwnCluster {
  readonly port: string
  readonly certificates: Certificates
  /** The folder of its Unix socket. */
  readonly socketFolder: string
}

/** A server with a certificate for `localhost` and `db.example`, and with logins that connect in different ways. */
export async function startTlsCluster(bin: string): Promise<TlsCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'wharf-test-certificates-'))
  const names = { server: 'DNS:localhost,DNS:db.example', client: 'certified', passphrase: PASSPHRASE }
  const certificates = await makeCertificates(folder, names)
  await chmod(folder, 0o777)
  const cluster = await startOwnCluster(bin, { settings: { unix_socket_directories: folder } })
  const ask = (sql: string) => query<{ data_directory: string }>(cluster.superuserUrl, sql)
  const [{ data_directory: dataDir } = { data_directory: '' }] = await ask('SHOW data_directory')
  const { uid, gid } = await stat(dataDir)
  const { cert, key } = certificates.server
  const files = { 'server.crt': cert, 'server.key': key, 'ca.crt': await readFile(certificates.ca, 'utf8') }
  for (const [name, text] of Object.entries({ ...files, 'pg_hba.conf': ACCESS })) {
    const path = join(dataDir, name)
    await writeFile(path, text)
    await chmod(path, 0o600)
    await chown(path, uid, gid)
  }
  for (const name of ['tls_only', 'plain_only', 'either', 'certified']) await ask(`CREATE ROLE ${name} LOGIN`)
  for (const name of ['scram', 'clear']) await ask(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`)
  const hashed = `SET password_encryption = md5; CREATE ROLE hashed LOGIN PASSWORD '${PASSWORD}'`
  await ask(hashed)
  await ask(`ALTER SYSTEM SET ssl_ca_file = 'ca.crt'`)
  await ask('ALTER SYSTEM SET ssl = on')
  await ask('SELECT pg_reload_conf()')
  return {
    ...cluster,
    port: new URL(cluster.url).port,
    certificates,
    socketFolder: folder,
    async remove() {
      await cluster.remove()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
