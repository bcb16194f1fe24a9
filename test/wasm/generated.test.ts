import { expect, test } from 'vitest'
import { generateModule, ROWS } from '../../scripts/wasm-module.ts'

/*
 * After a change of src/wasm/assembly: npx vitest run test/wasm/generated.test.ts -u
 */

test('the module is what is made from its sources', async () => {
  await expect(await generateModule(ROWS)).toMatchFileSnapshot('../../src/wasm/generated/module.ts')
})
