import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DatabaseSocket, socketMaker } from '../../src/database/database-socket.ts'

const sent = randomBytes(3 * 1024 * 1024)
const server = createServer((socket) => socket.end(sent))

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => server.close())

const port = (): number => (server.address() as AddressInfo).port

test('what is emitted stays as it was, although more is read into the same memory', async () => {
  const socket = new DatabaseSocket()
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.connect(port(), '127.0.0.1')
  await once(socket, 'end')
  expect(chunks.length).toBeGreaterThan(10)
  expect(Buffer.concat(chunks).equals(sent)).toBe(true)
})

test('who takes bytes as they come gets all of them, also across pauses, and nothing is emitted meanwhile', async () => {
  const socket = new DatabaseSocket()
  const emitted: Buffer[] = []
  const taken: Buffer[] = []
  let isPaused = false
  let takenInPause = 0
  socket.on('data', (chunk: Buffer) => emitted.push(chunk))
  socket.lendBytes((bytes) => {
    if (isPaused) takenInPause += 1
    taken.push(Buffer.from(bytes))
    isPaused = true
    socket.pause()
    void setImmediate().then(() => {
      isPaused = false
      socket.resume()
    })
  })
  socket.connect(port(), '127.0.0.1')
  await once(socket, 'end')
  expect(Buffer.concat(taken).equals(sent)).toBe(true)
  expect(takenInPause).toBe(0)
  expect(emitted).toEqual([])
})

test('what comes after bytes were lent is emitted again', async () => {
  const socket = new DatabaseSocket()
  const emitted: Buffer[] = []
  let taken = 0
  socket.on('data', (chunk: Buffer) => emitted.push(chunk))
  socket.lendBytes((bytes) => {
    taken += bytes.length
    socket.lendBytes(undefined)
  })
  socket.connect(port(), '127.0.0.1')
  await once(socket, 'end')
  expect(taken).toBeGreaterThan(0)
  expect(Buffer.concat(emitted).equals(sent.subarray(taken))).toBe(true)
})

test('a host is looked up as it was asked for', async () => {
  const asked: string[] = []
  const socket = socketMaker((host, _, done) => {
    asked.push(host)
    done(null, [{ address: '127.0.0.1', family: 4 }])
  })()
  socket.connect(port(), 'db.example').resume()
  await once(socket, 'end')
  expect(asked).toEqual(['db.example'])
})

test('a connection that is going to be encrypted leaves reading to TLS', () => {
  const make = socketMaker(undefined)
  expect(make({ ssl: { rejectUnauthorized: true } })).not.toBeInstanceOf(DatabaseSocket)
  expect(make({ ssl: false })).toBeInstanceOf(DatabaseSocket)
  expect(make()).toBeInstanceOf(Socket)
})
