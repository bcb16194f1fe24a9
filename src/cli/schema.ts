import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { schemaChangeSchema } from '../contract/project.ts'
import { AppError, wrongUse } from '../errors.ts'
import { recogniseCoding } from '../lib/recognise-coding.ts'
import { formatCount, formatCounted } from '../lib/units.ts'
import { type ArchiveInput, withArchiveInput } from './archive-input.ts'
import { isConnectionFailure } from './connection-failure.ts'
import type { CommandContext } from './environment.ts'
import { encodedPath, type HttpClient } from './http.ts'
import { withProject } from './server.ts'
import { printable } from './terminal/printable.ts'
import { type FileProgress, fileProgressLine, showProgress } from './terminal/progress.ts'
import { printResult, type ReportOptions } from './terminal/result.ts'

interface ApplyOptions extends ReportOptions {
  readonly stage: string
  readonly schema?: string
  readonly strict?: boolean
}

type SchemaChange = FromServer<z.output<typeof schemaChangeSchema>>

/** `schema:apply` */
export function runSchemaApply(
  context: CommandContext,
  file: string,
  target: string | undefined,
  options: ApplyOptions,
): Promise<number> {
  return withArchiveInput(context, file, (input) =>
    withProject(context, target, async ({ http }, project) => {
      const change = await apply(context, { input, http, project }, options)
      return printResult(context, options, {
        json: { project, ...change },
        text: () => reportOf(change, { file, project, schema: options.schema ?? 'public' }),
      })
    }),
  )
}

/** Sends the script, and shows how much of it is sent. */
function apply(
  context: CommandContext,
  { input, http, project }: { readonly input: ArchiveInput; readonly http: HttpClient; readonly project: string },
  { stage, schema, strict, quiet }: ApplyOptions,
): Promise<SchemaChange> {
  const progress: FileProgress = { bytes: 0, bytesTotal: input.sizeBytes, waitingFor: undefined }
  const work = async (): Promise<SchemaChange> => {
    const script = await recogniseCoding(input.read())
    const first = await script.bytes.next()
    if (first.done) throw wrongUse(`${input.name} is empty; expected SQL`)
    async function* counted(): AsyncGenerator<Buffer, void, undefined> {
      for (let next = first; !next.done; next = await script.bytes.next()) {
        yield next.value
        progress.bytes += next.value.length
      }
      progress.waitingFor = 'applying'
    }
    return http.json(
      {
        method: 'POST',
        path: encodedPath`/projects/${project}/stages/${stage}/schema`,
        query: { schema, strict: strict ? 'true' : undefined },
        headers: { 'content-type': 'application/sql', ...(script.coding && { 'content-encoding': script.coding }) },
        body: counted(),
      },
      schemaChangeSchema,
    )
  }
  return showProgress(context, { quiet, line: (seconds) => fileProgressLine(progress, seconds) }, () =>
    work().catch((error: unknown) => {
      throw progress.waitingFor !== undefined && isConnectionFailure(error) ? outcomeUnknown(error) : error
    }),
  )
}

const outcomeUnknown = (cause: AppError): AppError =>
  new AppError(
    'REMOTE_FAILED',
    `${cause.message}; all of the script was sent, so it may or may not have been applied`,
    {
      cause,
    },
  )

function reportOf(
  { stage, tables, rows, passedOver, unmappedFunctions }: SchemaChange,
  { file, project, schema }: { readonly file: string; readonly project: string; readonly schema: string },
): string {
  const copied = rows === 0 ? '' : `, with ${formatCounted(rows, 'row')}`
  const done = `applied ${printable(file)} to ${project}/${printable(stage)}${copied}, which now has ${formatCounted(tables, 'table')}`
  const counts = new Map<string, number>()
  for (const { statement, count } of passedOver) {
    const kind = statement.startsWith('SET ') ? 'SET' : statement
    counts.set(kind, (counts.get(kind) ?? 0) + count)
  }
  const kinds = [...counts].map(([kind, count]) => `${formatCount(count)} × ${printable(kind)}`)
  const functions = unmappedFunctions.map(({ name, line }) => `${printable(name)} (line ${line})`)
  return [
    done,
    ...(kinds.length > 0 ? [`passed over, since they say nothing about a stage: ${kinds.join(', ')}`] : []),
    ...(functions.length > 0
      ? [
          `these functions still name the schema "${printable(schema)}" in their body, as in SQL that is a string: ${functions.join(', ')}`,
        ]
      : []),
  ].join('\n')
}
