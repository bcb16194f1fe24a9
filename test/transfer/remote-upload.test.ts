import { expect, onTestFinished, test } from 'vitest'
import { connectRemoteServer } from '../../src/transfer/remote/remote-server.ts'
import { sendUpload } from '../../src/transfer/remote/remote-upload.ts'
import { serveHttp } from '../support/http/serve-http.ts'

test.each([
  ['nothing', '0'],
  ['more than was sent', '9'],
  ['something', 'some'],
])('a server that says that %s has arrived is not sent the same for ever', async (_, offset) => {
  const { url, requests } = await serveHttp((_request, response) => {
    response.writeHead(204, { 'upload-offset': offset }).end()
  })
  const signal = AbortSignal.timeout(20_000)
  const server = connectRemoteServer({ origin: url, token: 'of-a-test', allowed: [new URL(url).host], signal })
  onTestFinished(server.close)
  const sending = sendUpload(server, {
    ...{ uploadId: '00000000-0000-4000-8000-000000000000', bytes: 4, offset: 0, signal },
    read: async function* () {
      yield Buffer.from('rows')
    },
    onArrived: () => undefined,
  })
  await expect(sending).rejects.toMatchObject({
    code: 'REMOTE_FAILED',
    message: expect.stringContaining('does not answer as a Wharf server does'),
  })
  expect(requests).toMatchObject([{ method: 'PATCH', body: 'rows' }])
})
