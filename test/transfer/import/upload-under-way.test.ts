import { randomUUID } from 'node:crypto'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { beginArtifact } from '../../../src/jobs/job-artifacts.ts'
import { startSweeping } from '../../../src/jobs/start-sweeping.ts'
import { startWharf, type TestWharf } from '../../support/service/wharf.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterEach(() => {
  vi.useRealTimers()
})

afterAll(() => wharf.close())

/** What a process does as soon as it has started. */
const sweepOnce = (): Promise<void> => startSweeping(wharf.container).stop()

const BYTES = Buffer.from('the first rows of an upload')

test.each([-2, 2])('a process whose clock is %d days off leaves an upload under way alone', async (days) => {
  const upload = await beginArtifact(wharf.container, { kind: 'input' })
  await upload.writer.write(BYTES)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 24 * 60 * 60_000 })
  await sweepOnce()
  expect(await upload.writer.commit()).toMatchObject({ bytes: BYTES.length })
  await upload.discard()
})

test('an upload whose file looks old goes on for as long as it is recorded', async () => {
  const upload = await beginArtifact(wharf.container, { kind: 'input' })
  await upload.writer.write(BYTES)
  const leftBehind = randomUUID()
  const forgotten = await wharf.container.artifacts.create(leftBehind)
  const old = new Date(Date.now() - 3 * 24 * 60 * 60_000)
  for (const key of [upload.id, leftBehind]) {
    await utimes(join(wharf.dataDir, 'artifacts', `${key}.part`), old, old)
  }
  await sweepOnce()
  expect(await upload.writer.commit()).toMatchObject({ bytes: BYTES.length })
  await expect(forgotten.commit()).rejects.toThrow()
  await upload.discard()
})
