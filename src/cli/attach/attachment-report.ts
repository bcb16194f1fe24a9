import type { z } from 'zod'
import { attachmentSchema } from '../../contract/attachment.ts'
import type { FromServer } from '../../contract/from-server.ts'
import type { HttpClient } from '../http.ts'
import { RemoteProblem } from '../remote-problem.ts'
import { get } from '../server-api.ts'
import { printable } from '../terminal/printable.ts'
import { formatTable } from '../terminal/table.ts'

type Attachment = FromServer<z.output<typeof attachmentSchema>>

/** What is shown of the database of an attached project. */
export interface DatabaseReport {
  readonly json: object
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** What stands behind the fields. */
  readonly sections: (style: { readonly colors: boolean }) => readonly string[]
}

/** Has the server look at the database; where that fails, or is not allowed, the project is shown all the same. */
export async function lookAtDatabase(http: HttpClient, projectPath: string): Promise<DatabaseReport> {
  try {
    return describe(await get(http, `${projectPath}/attachment`, attachmentSchema))
  } catch (error) {
    if (!(error instanceof RemoteProblem)) throw error
    const { message: problem } = error
    return { json: { attachment: null, problem }, fields: [['database', problem]], sections: () => [] }
  }
}

/** The stages of which the login may not read everything. */
export async function stagesNotExported(http: HttpClient, projectPath: string): Promise<readonly string[]> {
  try {
    const { stages } = await get(http, `${projectPath}/attachment`, attachmentSchema)
    return stages.filter(({ mayExport }) => !mayExport).map(({ slug }) => slug)
  } catch (error) {
    // They are attached: what cannot be found out now is shown by the next look.
    if (error instanceof RemoteProblem) return []
    throw error
  }
}

const SUPERUSER = 'a superuser: it may do everything on that server, so make a login of less rights for Wharf'

const describe = (attachment: Attachment): DatabaseReport => ({
  json: { attachment },
  fields: [
    ['database', attachment.name],
    ['login', attachment.isSuperuser ? `${attachment.login}, ${SUPERUSER}` : attachment.login],
    ['PostgreSQL', attachment.version],
    ...(attachment.server === null ? [] : ([['server', attachment.server]] as const)),
  ],
  sections: (style) => {
    const rows = attachment.stages.map(({ slug, schema, mayExport, mayImport, logEvents }) => [
      ...[slug, schema],
      ...[mayExport ? 'yes' : 'no', mayImport, logEvents ? 'kept' : 'no'],
    ])
    const reasons = attachment.stages.flatMap(reasonsOf)
    return [
      formatTable(['stage', 'schema', 'export', 'import', 'event log'], rows, style),
      ...(reasons.length === 0 ? [] : [reasons.join('\n')]),
    ]
  },
})

const reasonsOf = ({ slug, reasons, missing, logProblems }: Attachment['stages'][number]): readonly string[] => [
  ...reasons.map((reason) => printable(`${slug}: ${reason}`)),
  ...logProblems.map((problem) => printable(`${slug}: its rows are read anew each time: ${problem}`)),
  ...(missing.length === 0 ? [] : [printable(`${slug}: what would allow more, for the owner of the database to run:`)]),
  ...missing.map((statement) => printable(`  ${statement}`)),
]
