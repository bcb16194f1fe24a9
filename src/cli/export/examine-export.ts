import type { z } from 'zod'
import { type ExportSelection, exportDryRunSchema } from '../../contract/export.ts'
import type { FromServer } from '../../contract/from-server.ts'
import type { HttpClient } from '../http.ts'
import { RemoteProblem } from '../remote-problem.ts'
import { send } from '../server-api.ts'

type Found = Omit<FromServer<z.output<typeof exportDryRunSchema>>, 'complete'> & { readonly complete: boolean | null }

/** What an archive of a project would lack. A server of an earlier version can't say: then it is not known. */
export async function examineExport(http: HttpClient, selection: ExportSelection): Promise<Found> {
  try {
    const body = { projects: [selection] }
    return await send(http, { method: 'POST', path: '/export/dry-run', body }, exportDryRunSchema)
  } catch (error) {
    if (isUnknownPath(error)) return { complete: null, notExported: [] }
    throw error
  }
}

/** What a server answers that has no such call, and not one that lacks the project or a table. */
const isUnknownPath = (error: unknown): boolean =>
  error instanceof RemoteProblem &&
  error.type === 'urn:wharf:error:not-found' &&
  error.message.startsWith('there is no path ')
