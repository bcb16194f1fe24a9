import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateAdvice, generateApiTypes, isMadeFrom } from '../../scripts/client-types.ts'
import { startWharf, type TestWharf } from '../support/service/wharf.ts'
import { isThorough } from '../support/thorough.ts'

/*
 * After a change of the HTTP interface or of docs/errors.md: npx vitest run test/client/generated.test.ts -u
 */

const TYPES = '../../src/client/generated/api.ts'

let wharf: TestWharf

beforeAll(async () => {
  wharf = await startWharf()
})

afterAll(() => wharf?.close())

test('the types of the client are those of /openapi.json of a running service', async () => {
  const document = (await wharf.root.get('/openapi.json')).json as object
  const isKnown = isMadeFrom(await readFile(new URL(TYPES, import.meta.url), 'utf8'), document)
  if (isKnown && !isThorough) return
  await expect(await generateApiTypes(document)).toMatchFileSnapshot(TYPES)
})

test('errors say what docs/errors.md says to do', async () => {
  const advice = await generateAdvice()
  expect(advice).toContain('NOT_FOUND: "Check the name')
  await expect(advice).toMatchFileSnapshot('../../src/client/generated/advice.ts')
})
