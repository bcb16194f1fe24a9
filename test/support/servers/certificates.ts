import { execFile, spawnSync } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Whether this machine has OpenSSL's program. */
export const canMakeCertificates = spawnSync('openssl', ['version']).status === 0

/** Paths of PEM files. */
export interface Certificates {
  readonly ca: string
  /** The authority of nothing else here. */
  readonly otherCa: string
  /** Revokes the server's certificate, and nothing, respectively. */
  readonly revoked: string
  readonly revokedNothing: string
  readonly server: { readonly cert: string; readonly key: string }
  readonly client: { readonly cert: string; readonly key: string; readonly encryptedKey: string }
}

export interface CertificateNames {
  /** Names and addresses that the server's certificate is for, such as `DNS:localhost`. */
  readonly server: string
  /** The login that the client's is for. */
  readonly client: string
  /** With which the client's second key is encrypted. */
  readonly passphrase: string
}

const CONFIG = `
[req]
distinguished_name = name
[name]
[ca]
default_ca = authority
[authority]
database = ./index.txt
default_md = sha256
default_crl_days = 30
`

/** Makes an authority, and certificates of it. @param folder an empty one. */
export async function makeCertificates(
  folder: string,
  { server, client, passphrase }: CertificateNames,
): Promise<Certificates> {
  const path = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]) => run('openssl', args, { cwd: folder })
  const config = ['-config', 'openssl.cnf']
  const key = ['-newkey', 'rsa:2048', '-nodes']
  await writeFile(path('openssl.cnf'), CONFIG)
  await writeFile(path('index.txt'), '')
  for (const ca of ['ca', 'other-ca']) {
    const extensions = ['-addext', 'basicConstraints=critical,CA:true', '-addext', 'keyUsage=keyCertSign,cRLSign']
    const files = ['-keyout', `${ca}.key`, '-out', `${ca}.crt`]
    await openssl('req', ...config, '-x509', ...key, ...files, '-subj', `/CN=${ca}`, '-days', '30', ...extensions)
  }
  const issue = async (name: string, subject: string, extension: string): Promise<void> => {
    await openssl('req', ...config, ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`)
    await writeFile(path(`${name}.ext`), extension)
    const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '30']
    await openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...authority, '-extfile', `${name}.ext`)
    await chmod(path(`${name}.key`), 0o600)
  }
  await issue('server', 'server', `subjectAltName=${server}`)
  await issue('client', client, 'extendedKeyUsage=clientAuth')
  const encrypted = ['-in', 'client.key', '-out', 'encrypted.key', '-aes256', '-passout', `pass:${passphrase}`]
  await openssl('rsa', ...encrypted)
  await chmod(path('encrypted.key'), 0o600)
  const authority = ['-keyfile', 'ca.key', '-cert', 'ca.crt']
  await openssl('ca', ...config, ...authority, '-gencrl', '-out', 'nothing.crl')
  await openssl('ca', ...config, ...authority, '-revoke', 'server.crt')
  await openssl('ca', ...config, ...authority, '-gencrl', '-out', 'revoked.crl')
  return {
    ca: path('ca.crt'),
    otherCa: path('other-ca.crt'),
    revoked: path('revoked.crl'),
    revokedNothing: path('nothing.crl'),
    server: { cert: await readFile(path('server.crt'), 'utf8'), key: await readFile(path('server.key'), 'utf8') },
    client: { cert: path('client.crt'), key: path('client.key'), encryptedKey: path('encrypted.key') },
  }
}

/** One that is its own authority, for 127.0.0.1. @returns paths of it and of its key. */
export async function makeCertificate(folder: string): Promise<{ readonly path: string; readonly key: string }> {
  const [path, key] = [join(folder, 'own.crt'), join(folder, 'own.key')]
  const subject = ['-subj', '/CN=own', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '30']
  await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', path, ...subject])
  return { path, key }
}
