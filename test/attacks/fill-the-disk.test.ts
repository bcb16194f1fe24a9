import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openArchive, receiveArchive } from '../../src/transfer/import/receive-archive.ts'
import { buildArchive, column } from '../support/archives/archive-builder.ts'
import { streamOf } from '../support/archives/archive-sample.ts'
import { sendArchive } from '../support/archives/import.ts'
import { temporaryFolder } from '../support/processes/processes.ts'
import { createProject } from '../support/service/projects.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'

const MEBIBYTE = 1024 * 1024

/** More than any disk has. */
const RESERVE = Number.MAX_SAFE_INTEGER

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf({ environment: { WHARF_SPOOL_RESERVE_BYTES: String(RESERVE) }, worker: true })
  await createProject(wharf, 'guest')
})

afterAll(() => wharf.close())

/** Rows that are all the same, as gzip makes them small. */
const archive = (bytes: number): Buffer => {
  const rows = Array.from({ length: Math.ceil(bytes / 10_000) }, () => ['a'.repeat(10_000)])
  const tables = [{ name: 't', columns: [column('c', 'text')], rows }]
  return gzipSync(buildArchive({ slug: 'guest', stages: [{ tables }] }))
}

test('fills the disk beside the database with rows that come compressed', async () => {
  const answer = await sendArchive(wharf.root, archive(MEBIBYTE), { headers: { 'content-encoding': 'gzip' } })
  expect(answer).toMatchObject({ status: 507, json: { type: 'urn:wharf:error:storage-full' } })
  expect(answer.text).toContain('WHARF_SPOOL_RESERVE_BYTES')
  expect(await files.readdir(wharf.container.spoolFolder)).toEqual([])
})

test('fills the disk after its first look at the room on it', async () => {
  const folder = await temporaryFolder()
  const { statfs } = files
  onTestFinished(() => {
    Object.assign(files, { statfs })
    syncBuiltinESMExports()
  })
  let looks = 0
  const full = async (path: string) => {
    looks += 1
    const room = await statfs(path)
    if (looks > 1) room.bavail = 0
    return room
  }
  Object.assign(files, { statfs: full })
  syncBuiltinESMExports()
  const receive = async (mebibytes: number): Promise<void> => {
    const received = await openArchive(folder, 1)
    try {
      await receiveArchive(received, streamOf(archive(mebibytes * MEBIBYTE)), {})
    } finally {
      await received.file.remove()
    }
  }
  await receive(2)
  looks = 0
  await expect(receive(24)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect(looks).toBe(2)
  expect(await files.readdir(folder)).toEqual([])
})
