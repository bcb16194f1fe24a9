import type { z } from 'zod'
import type { Container } from '../../container.ts'
import type { exportRequest, transferRequest } from '../../contract/export.ts'
import type { newSchedule } from '../../contract/schedule.ts'
import { assertMayRun } from '../../jobs/authorisation.ts'
import type { Asked } from '../../jobs/schedules/schedules.ts'
import type { Caller } from '../../projects/access.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import { prepareTransfer } from './transfer.ts'

type ExportBody = z.output<typeof exportRequest>
type TransferBody = z.output<typeof transferRequest>

/**
 * What the jobs of a new schedule are asked for with.
 *
 * @throws {AppError} what the job would be refused for, as far as that can be known now.
 */
export const askedFirst = (
  container: Container,
  caller: Caller,
  schedule: z.output<typeof newSchedule>,
): Promise<Asked> =>
  schedule.kind === 'export'
    ? askedExport(container, caller, schedule.request)
    : askedTransfer(container, caller, schedule.request)

/** The same for a request that takes the place of another, of which only the form tells the kind. */
export const askedAgain = (container: Container, caller: Caller, request: ExportBody | TransferBody): Promise<Asked> =>
  'projects' in request ? askedExport(container, caller, request) : askedTransfer(container, caller, request)

async function askedExport({ control }: Container, caller: Caller, request: ExportBody): Promise<Asked> {
  const asked = { kind: 'export', request } as const
  assertMayRun(caller, asked)
  for (const selection of request.projects) await findSelection(control.prisma, selection)
  return { asked, secrets: {} }
}

async function askedTransfer(container: Container, caller: Caller, body: TransferBody): Promise<Asked> {
  const { request, secrets } = await prepareTransfer(container, caller, body)
  return { asked: request, secrets }
}
