import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** As Signature Version 4 has it: all but letters, digits and `-._~`. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Whether a presigned URL was signed with this secret, for this path, query and host, and has not expired. s3rver takes
 * any signature.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export function isSignedUrl({ method = '', url = '', headers }: IncomingMessage, secret: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://s3')
  const of = (name: string): string => searchParams.get(`X-Amz-${name}`) ?? ''
  const [, date = '', region = '', service = ''] = of('Credential').split('/')
  const query = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
  const signed = of('SignedHeaders').split(';')
  const request = [
    ...[method, pathname, query.join('&')],
    ...signed.map((name) => `${name}:${String(headers[name]).trim()}`),
    ...['', signed.join(';'), 'UNSIGNED-PAYLOAD'],
  ].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const hash = createHash('sha256').update(request).digest('hex')
  const text = ['AWS4-HMAC-SHA256', of('Date'), scope, hash].join('\n')
  const key = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${secret}`, date))
  const begun = Date.parse(of('Date').replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'))
  const isInTime = Date.now() < begun + Number(of('Expires')) * 1_000
  return isInTime && hmac(key, text).toString('hex') === of('Signature')
}
