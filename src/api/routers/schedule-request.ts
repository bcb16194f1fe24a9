import type { z } from 'zod'
import type { Container } from '../../container.ts'
import type { exportRequest, transferRequest } from '../../contract/export.ts'
import { assertMayRun } from '../../jobs/authorisation.ts'
import type { Asked } from '../../jobs/schedules/schedules.ts'
import type { Caller } from '../../projects/access.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import { prepareTransfer } from './transfer.ts'

type ScheduledBody = z.output<typeof exportRequest> | z.output<typeof transferRequest>

/**
 * What the jobs of a schedule are asked for with; the form of the request decides their kind.
 *
 * @throws {AppError} what the job would be refused for, as far as that can be known now.
 */
export async function askedFor(container: Container, caller: Caller, body: ScheduledBody): Promise<Asked> {
  if (!('projects' in body)) {
    const { request, secrets } = await prepareTransfer(container, caller, body)
    return { asked: request, secrets }
  }
  const asked = { kind: 'export', request: body } as const
  assertMayRun(caller, asked)
  for (const selection of body.projects) await findSelection(container.control.prisma, selection)
  return { asked, secrets: {} }
}
