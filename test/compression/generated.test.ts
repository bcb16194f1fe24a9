import { expect, test } from 'vitest'
import { DEFLATE, generateModule } from '../../scripts/wasm-module.ts'

/*
 * After a change of src/compression/assembly: npx vitest run test/compression/generated.test.ts -u
 */

test('the module is what is made from its sources', async () => {
  await expect(await generateModule(DEFLATE)).toMatchFileSnapshot('../../src/compression/generated/module.ts')
})
