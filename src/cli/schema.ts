import { createReadStream } from 'node:fs'
import { schemaChangeSchema } from '../contract/project.ts'
import { wrongUse } from '../errors.ts'
import type { CommandContext } from './environment.ts'
import { toFileFailure } from './file-failure.ts'
import { encodedPath } from './http.ts'
import { withProject } from './server.ts'
import { printable } from './terminal/printable.ts'
import { printResult, type ResultOptions } from './terminal/result.ts'
import { formatCounted } from './terminal/units.ts'

/** The server takes no more; it has to hold the script as a whole, too. */
const MAX_SCRIPT_BYTES = 64 * 1024 * 1024

/** `schema:apply` */
export async function runSchemaApply(
  context: CommandContext,
  file: string,
  target: string | undefined,
  { stage, ...options }: ResultOptions & { readonly stage: string },
): Promise<number> {
  const script = await readScript(context, file)
  return withProject(context, target, async ({ http }, project) => {
    const change = await http.json(
      {
        method: 'POST',
        path: encodedPath`/projects/${project}/stages/${stage}/schema`,
        headers: { 'content-type': 'application/sql' },
        body: script,
      },
      schemaChangeSchema,
    )
    return printResult(context, options, {
      json: { project, ...change },
      text: () =>
        `applied ${printable(file)} to ${project}/${printable(change.stage)}, which now has ${formatCounted(change.tables, 'table')}`,
    })
  })
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
        throw wrongUse(`${file} has more than ${MAX_SCRIPT_BYTES} bytes, the most that is accepted`)
    }
  } catch (error) {
    throw toFileFailure(error, file, 'read')
  }
  if (bytes === 0) throw wrongUse(`${file} is empty; expected SQL`)
  return Buffer.concat(chunks)
}
