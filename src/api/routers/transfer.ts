import { z } from 'zod'
import { assertAllowedHost, hostAndPortOf } from '../../allowed-hosts.ts'
import type { Container } from '../../container.ts'
import { type TransferEnd, transferRequest } from '../../contract/export.ts'
import { invalidRequest, isAppError } from '../../errors.ts'
import { assertMayRun } from '../../jobs/authorisation.ts'
import { requestHash } from '../../jobs/submit.ts'
import { type Caller, tokenIdOf } from '../../projects/access.ts'
import { findSelection } from '../../transfer/export/export-selection.ts'
import { admitStage } from '../../transfer/import/structure-permission.ts'
import { parseProjectTarget } from '../../transfer/remote/target.ts'
import { jsonBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { accepted, acceptJob, asyncHeaders, idempotencyOf } from './accept-job.ts'

const route = routesUnder('Data')

const transfer = route('POST /transfer', {
  operationId: 'transferProject',
  summary: 'Copies a project over another one, on this server or between this one and another',
  description:
    'Always a job. The target is overwritten as by an import: all of it together, or nothing. At least one end is on this ' +
    'server. The operator decides which other servers may be reached (`WHARF_TRANSFER_HOSTS`). Needs `content.export` in a ' +
    'source and `content.import` in a target that are here, `content.structure` in a target with an ' +
    'empty stage, which is built, and the same in `system` where the system section is asked for.',
  access: {
    by: 'request',
    permissions: ['content.export', 'content.import'],
    system: ['system.export', 'system.import'],
  },
  headers: z.object({ 'idempotency-key': asyncHeaders['idempotency-key'] }),
  body: jsonBody(transferRequest),
  answers: { 202: accepted },
  errors: ['ATTACHED_FAILED', 'ATTACHED_PROJECT', 'QUEUE_UNAVAILABLE', 'IDEMPOTENCY_KEY_REUSED'],
})

/** `/transfer` */
export function transferRoutes(container: Container): readonly BoundRoute<Caller>[] {
  return [
    transfer.handle<Caller>(async ({ body, headers, caller }) => {
      const newJob = {
        ...(await prepareTransfer(container, caller, body)),
        createdBy: tokenIdOf(caller),
        idempotency: idempotencyOf(headers, () => requestHash(body)),
      }
      return acceptJob(container, newJob, { isPreferred: false })
    }),
  ]
}

/**
 * Makes sure that a transfer may be asked for, and takes its secrets out.
 *
 * @throws {AppError} INVALID_REQUEST, NOT_FOUND, FORBIDDEN.
 */
export async function prepareTransfer(container: Container, caller: Caller, body: z.output<typeof transferRequest>) {
  const { control, config } = container
  const source = withoutToken(body.source, '/source')
  const target = withoutToken(body.target, '/target')
  const request = { kind: 'transfer', request: { ...body, source: source.end, target: target.end } } as const
  assertMayRun(caller, request)
  if (isSameProject(body.source, body.target)) throw invalidRequest('source and target are the same project')
  for (const { origin } of [source, target]) {
    if (origin !== undefined) assertAllowedHost(hostAndPortOf(origin), config.transferHosts)
  }
  if ('project' in body.source) {
    await findSelection(control.prisma, { slug: body.source.project, system: body.system, stages: body.stages })
  }
  await admitTarget(container, caller, body)
  const secrets = {
    ...(source.token !== undefined && { source: source.token }),
    ...(target.token !== undefined && { target: target.token }),
  }
  return { request, secrets }
}

/** Those stages of a target that are known to come, and would be built: the job looks at all of them itself. */
async function admitTarget(
  container: Container,
  caller: Caller,
  { source, target, stages, system }: z.output<typeof transferRequest>,
): Promise<void> {
  if (caller.kind === 'root' || !('project' in target)) return
  const { prisma } = container.control
  const coming =
    stages ??
    ('project' in source
      ? (await findSelection(prisma, { slug: source.project, system })).stages.map(({ slug }) => slug)
      : [])
  for (const stage of coming) await admitStage(container, tokenIdOf(caller), { project: target.project, stage })
}

const isSameProject = (source: TransferEnd, target: TransferEnd): boolean =>
  'project' in source && 'project' in target && source.project === target.project

interface MaskedEnd {
  readonly end: TransferEnd
  readonly origin: string | undefined
  readonly token: string | undefined
}

/** Takes a DSN apart: its token goes where nobody reads it. */
function withoutToken(given: TransferEnd, pointer: string): MaskedEnd {
  if ('project' in given) return { end: given, origin: undefined, token: undefined }
  const { origin, project, token } = parseDsn(given.dsn, pointer)
  const { protocol, host } = new URL(origin)
  const scheme = protocol === 'http:' ? 'wharf+http' : 'wharf+https'
  return { end: { dsn: `${scheme}://${project}:***@${host}` }, origin, token }
}

function parseDsn(dsn: string, pointer: string) {
  try {
    const target = parseProjectTarget(dsn)
    if (target.kind === 'remote' && target.token !== undefined) return target
  } catch (error) {
    if (!isAppError(error)) throw error
  }
  const detail = 'must be wharf://<project>:<TOKEN>@<host>[:port]'
  throw invalidRequest('the body does not have the expected form', [{ pointer: `${pointer}/dsn`, detail }])
}
