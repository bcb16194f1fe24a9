import { z } from 'zod'
import type { Container } from '../../container.ts'
import { assertMayRun } from '../../jobs/authorisation.ts'
import type { Asked } from '../../jobs/schedules/schedules.ts'
import type { Caller } from '../../projects/access.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import { plainText } from '../plain-text.ts'
import { exportBody } from './export.ts'
import { keepSchema } from './schedule-body.ts'
import { prepareTransfer, transferBody } from './transfer.ts'

const name = plainText(200).min(1)
const cron = plainText(200).meta({
  description:
    'Minute, hour, day of month, month, day of week; seconds before them or without; or `@daily` and the like. An hour ' +
    'that is named is what the clocks of the time zone show: what they skip runs at the first moment after, what they ' +
    'show twice runs once.',
  examples: ['30 2 * * *', '@daily'],
})
const timezone = plainText(100).meta({ description: 'An IANA name.', examples: ['Europe/Berlin'] })
const verify = z.boolean().meta({
  description: 'Whether every archive is restored and compared before its run counts as succeeded; only for exports.',
})
const newFields = {
  name,
  cron,
  timezone: timezone.default('UTC'),
  keep: keepSchema.default({}),
  verify: verify.default(false),
  enabled: z.boolean().default(true),
}

/** A schedule that is to be made. */
export const newSchedule = z.discriminatedUnion('kind', [
  z.strictObject({ ...newFields, kind: z.literal('export'), request: exportBody }),
  z.strictObject({ ...newFields, kind: z.literal('transfer'), request: transferBody }),
])

/** What of a schedule is to change. */
export const changedSchedule = z.strictObject({
  name: name.optional(),
  cron: cron.optional(),
  timezone: timezone.optional(),
  request: z.union([exportBody, transferBody]).optional().meta({ description: 'Whole, and of the same kind.' }),
  keep: keepSchema.optional().meta({ description: 'In place of both rules that were there.' }),
  verify: verify.optional(),
  enabled: z.boolean().optional(),
})

type ExportBody = z.output<typeof exportBody>
type TransferBody = z.output<typeof transferBody>

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
