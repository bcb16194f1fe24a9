import { createReadStream } from 'node:fs'
import { wrongUse } from '../errors.ts'
import { parseProjectTarget } from '../transfer/remote/target.ts'
import type { CommandContext } from './environment.ts'
import { EXIT } from './exit-codes.ts'
import { toFileRefusal } from './file-refusal.ts'
import { projectOf, withServer } from './server.ts'
import { applySchema } from './server-api.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatCounted } from './terminal/units.ts'

export interface SchemaApplyOptions extends ResultOptions {
  readonly stage: string
}

/** The server takes no more; it has to hold the script as a whole, too. */
const MAX_SCRIPT_BYTES = 64 * 1024 * 1024

/** `schema:apply` */
export async function runSchemaApply(
  context: CommandContext,
  { file, target: address }: { readonly file: string; readonly target: string | undefined },
  { stage, ...options }: SchemaApplyOptions,
): Promise<number> {
  const target = parseProjectTarget(address)
  const script = await readScript(context, file)
  const { project, change } = await withServer(context, target, async (server) => {
    const project = projectOf(undefined, server)
    return { project, change: await applySchema(server.http, { project, stage, script }) }
  })
  await printResult(context.environment, options, {
    json: { project, ...change },
    text: () =>
      `applied ${printable(file)} to ${project}/${printable(change.stage)}, which has ${formatCounted(change.tables, 'table')} now`,
  })
  return EXIT.done
}

/** @throws {AppError} WRONG_USE where there is no file that can be read, or nothing in it, or too much. */
async function readScript({ environment, signal }: CommandContext, file: string): Promise<Buffer> {
  const input = file === '-' ? environment.stdin : createReadStream(file, { signal })
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of input) {
      chunks.push(Buffer.from(chunk))
      bytes += chunk.length
      if (bytes > MAX_SCRIPT_BYTES)
        throw wrongUse(`${file} has more than ${MAX_SCRIPT_BYTES} bytes, the most that is taken`)
    }
  } catch (error) {
    throw toFileRefusal(error, file, 'read')
  }
  if (bytes === 0) throw wrongUse(`${file} is empty; expected SQL`)
  return Buffer.concat(chunks)
}
