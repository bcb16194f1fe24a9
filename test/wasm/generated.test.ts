import { expect, test } from 'vitest'
import { DEFLATE, generateModule, ROWS } from '../../scripts/wasm-module.ts'

/*
 * After a change of src/wasm/assembly or src/compression/assembly: npx vitest run test/wasm/generated.test.ts -u
 */

test.each([ROWS, DEFLATE])('the module in $folder is what is made from its sources', async (source) => {
  await expect(await generateModule(source)).toMatchFileSnapshot(`../../${source.folder}/generated/module.ts`)
})
