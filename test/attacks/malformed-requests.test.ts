import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createShips, SHIP } from '../support/content/content.ts'
import { sendRaw } from '../support/http/raw-http.ts'
import { ROOT_TOKEN, startWharf, type TestWharf } from '../support/service/wharf.ts'
import { malformedRequests, type RawRequest } from './malformed-requests.ts'

const READERS = 8
const SENDERS = 32

let wharf: TestWharf

beforeAll(async () => {
  // Without limits, so that every request is looked at.
  wharf = await startWharf({ environment: { WHARF_MAX_FAILED_LOGINS: '0', WHARF_MAX_REQUESTS: '0' } })
  await createShips(wharf)
})

afterAll(() => wharf.close())

function toText({ method, target, headers, body }: RawRequest): string {
  const given = {
    ...{ host: 'wharf', connection: 'close', authorization: `Bearer ${ROOT_TOKEN}` },
    ...(body !== undefined && { 'content-length': String(body.length) }),
    ...headers,
  }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

test('makes the requests of others fail by bytes in any place of a request, or gets an error of ours out of them', async () => {
  const openApi = (await wharf.root.get('/openapi.json')).json
  const requests = malformedRequests(openApi, process.env.EVERY_BYTE !== undefined)
  let [sent, read, isOver] = [0, 0, false]
  const wrong: string[] = []

  const send = async (): Promise<void> => {
    for (const request of requests) {
      const { status, text } = await sendRaw(wharf.url, toText(request))
      sent += 1
      // Many exports of one project at once are too many, whatever is malformed in them.
      const isFine = (status >= 200 && status < 500) || text.includes('urn:wharf:error:project-busy')
      if (!isFine) wrong.push(`${JSON.stringify(request)}: ${text}`.slice(0, 1_000))
    }
  }
  const readOn = async (_: unknown, reader: number): Promise<void> => {
    for (; !isOver; read += 1) {
      const answer = await wharf.root.get(`${SHIP}?id=eq.${(reader + read) % READERS}&select=id`)
      if (answer.status !== 200) wrong.push(`a good reader: ${answer.status} ${answer.text}`)
      await delay(100)
    }
  }
  const reading = Promise.all(Array.from({ length: READERS }, readOn))
  await Promise.all(Array.from({ length: SENDERS }, send)).finally(() => {
    isOver = true
  })
  await reading
  expect(wrong).toEqual([])
  expect(sent).toBeGreaterThan(2_000)
  expect(read).toBeGreaterThan(READERS)
}, 900_000)
