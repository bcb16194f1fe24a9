import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly login: string | undefined
  readonly from: string
  readonly to: readonly string[]
  /** Headers and text as they came. */
  readonly source: string
}

export interface MailServer {
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  /** Answers each mail from now on with this code; undefined takes it. */
  refuseWith(code: number | undefined): void
  close(): Promise<void>
}

/** A mail server that keeps what it takes. The password of every login is `secret`. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  let refusingCode: number | undefined
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username = '', password }, _session, done) {
      if (password === 'secret') done(null, { user: username })
      else done(new Error('the password is wrong'))
    },
    async onData(stream, { envelope, user }, done) {
      const source = await text(stream)
      if (refusingCode !== undefined) return done(Object.assign(new Error('not now'), { responseCode: refusingCode }))
      const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
      mails.push({ login: user as string | undefined, from, to: envelope.rcptTo.map(({ address }) => address), source })
      done()
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    refuseWith(code) {
      refusingCode = code
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
