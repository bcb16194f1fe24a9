import { z } from 'zod'
import type { Container } from '../../container.ts'
import { slug } from '../../contract/fields.ts'
import { importAnswerSchema } from '../../contract/import.ts'
import type { Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { readFiles } from '../../jobs/job-artifacts.ts'
import { findByKey, requestHash } from '../../jobs/submit.ts'
import { assertWhole, findUpload, partsOf, removeUpload, touchUpload } from '../../jobs/uploads/upload.ts'
import { type Caller, lockCaller, tokenIdOf } from '../../projects/access.ts'
import { assertMayMove } from '../../projects/assert-permission.ts'
import type { ArchiveProject } from '../../transfer/import/archive-lists.ts'
import { toExaminedStage } from '../../transfer/import/examined-stage.ts'
import { importArchive } from '../../transfer/import/import-archive.ts'
import { toCompleteness, toRolesResult } from '../../transfer/import/import-result.ts'
import { planRolesOf } from '../../transfer/import/import-roles.ts'
import { type CheckOptions, checkArchive } from '../../transfer/import/receive-archive.ts'
import { admitLastStage } from '../../transfer/import/structure-permission.ts'
import { compareTargets, type TargetProject, targetSlugs } from '../../transfer/import/targets.ts'
import { tryBuilding } from '../../transfer/import/try-building.ts'
import { json } from '../answer.ts'
import { parsePrefer } from '../prefer.ts'
import { queryFlag } from '../query.ts'
import { accepted, acceptJob, asyncHeaders, idempotencyOf } from './accept-job.ts'
import { acceptArchive, acceptUpload } from './import-job.ts'

const query = z.object({
  targetSlug: slug.optional().meta({ description: 'Where the data goes, for an archive of one project.' }),
  dryRun: queryFlag().meta({ description: 'Does all the checks, and answers with what would happen.' }),
  allowEdited: queryFlag().meta({
    description: 'Accepts an archive whose rows were edited: counts and sums may disagree.',
  }),
  allowIncomplete: queryFlag().meta({
    description: 'Accepts an archive that lacks rows of what it was made from. By default that is refused.',
  }),
})

const headers = z.object(asyncHeaders)

/** What the calls that import an archive have in common, wherever it comes from. */
export const IMPORT_CALL = {
  query,
  headers,
  answers: {
    200: json(importAnswerSchema, 'The archive has been imported; or could be, where `dryRun` was asked for.'),
    202: accepted,
  },
  errors: [
    'CONFLICT',
    'INCOMPLETE',
    'ARCHIVE_INVALID',
    'ATTACHED_FAILED',
    'ATTACHED_PROJECT',
    'DATABASE_UNAVAILABLE',
    'QUEUE_UNAVAILABLE',
    'STORAGE_FULL',
    'STORAGE_UNAVAILABLE',
    'IDEMPOTENCY_KEY_REUSED',
  ],
} as const

interface ImportCall {
  readonly query: z.output<typeof query>
  readonly headers: z.output<typeof headers>
  readonly caller: Caller
  readonly signal: AbortSignal
}

/** Answers a call whose body is the archive. */
export function answerImport(container: Container, bytes: AsyncIterable<Buffer>, call: ImportCall) {
  const { query, headers, caller } = call
  if (!query.dryRun && parsePrefer(headers.prefer).respondAsync) {
    const options = checkOptions(container, call)
    return acceptArchive(container, { bytes, targetSlug: query.targetSlug, options, caller, authorise, headers })
  }
  return query.dryRun ? examine(container, bytes, call) : importNow(container, bytes, call)
}

/**
 * Answers a call that names an upload.
 *
 * @throws {AppError} NOT_FOUND where the caller has no such upload; CONFLICT where bytes of it are missing.
 */
export async function answerUploadImport(container: Container, uploadId: string, call: ImportCall) {
  const { query, headers, caller } = call
  const { prisma } = container.control
  const createdBy = tokenIdOf(caller)
  // What was asked for, without its bytes: a job has taken the upload when the same is asked for again.
  const idempotency = idempotencyOf(headers, () => requestHash('upload', uploadId, query))
  const isJob = !query.dryRun && parsePrefer(headers.prefer).respondAsync
  const known = isJob ? await findByKey(container.control, { kind: 'import', createdBy, idempotency }) : undefined
  if (known) {
    const request = known.request as ImportRequest
    const targets = request.projects.map(({ targetSlug }) => targetSlug)
    const again = (tx: Transaction) => authorise(tx, caller, request.projects, targets)
    const newJob = { request: { kind: 'import', request }, createdBy, idempotency, authorise: again } as const
    return acceptJob(container, newJob, { isPreferred: true })
  }
  const upload = await findUpload(prisma, caller, uploadId)
  assertWhole(upload)
  // So that it is not swept while it is read.
  await touchUpload(prisma, uploadId)
  const bytes = readFiles(container.artifacts, await partsOf(prisma, uploadId))
  if (query.dryRun) return examine(container, bytes, call)
  if (isJob) {
    const options = checkOptions(container, call)
    const archive = { bytes, targetSlug: query.targetSlug, options, caller, authorise }
    return acceptUpload(container, { ...archive, uploadId, idempotency })
  }
  const answer = await importNow(container, bytes, call)
  await removeUpload(prisma, uploadId)
  return answer
}

function checkOptions(container: Container, { query, caller, signal }: ImportCall) {
  const { maxLineBytes, maxStructureLineBytes } = container.config
  return {
    maxLineBytes,
    maxStructureLineBytes,
    allowEdited: query.allowEdited,
    allowIncomplete: query.allowIncomplete,
    signal,
    async admit(projects: readonly ArchiveProject[]): Promise<void> {
      const targets = targetSlugs(projects, query.targetSlug)
      assertMayImport(caller, projects, targets)
      await admitLastStage(container, tokenIdOf(caller), projects, targets)
    },
  } satisfies CheckOptions
}

/** An upload can take long enough for a token to be revoked. */
async function authorise(
  tx: Transaction,
  caller: Caller,
  projects: readonly Pick<ArchiveProject, 'system'>[],
  targets: readonly string[],
): Promise<Caller> {
  const now = await lockCaller(tx, caller, targets)
  assertMayImport(now, projects, targets)
  return now
}

async function examine(container: Container, bytes: AsyncIterable<Buffer>, call: ImportCall) {
  const { query, caller, signal } = call
  const projects = await checkArchive(bytes, checkOptions(container, call))
  const examined = await compareTargets(container, projects, targetsOf(projects, query.targetSlug), {
    countRows: true,
    tokenId: tokenIdOf(caller),
  })
  await tryBuilding(container, examined, signal)
  return {
    status: 200,
    body: {
      ok: true,
      dryRun: true,
      projects: await Promise.all(examined.map((target) => toExaminedBody(container, caller, target))),
      ...toCompleteness(projects),
    },
  } as const
}

async function importNow(container: Container, bytes: AsyncIterable<Buffer>, call: ImportCall) {
  const { query, caller, signal } = call
  const { allowEdited, allowIncomplete, admit } = checkOptions(container, call)
  let lacking = toCompleteness([])
  const imported = await importArchive(container, (use) => use(bytes), {
    targetsOf: (projects) => targetsOf(projects, query.targetSlug),
    tokenId: tokenIdOf(caller),
    admit,
    authorise: (tx, projects, targets) => authorise(tx, caller, projects, targets),
    signal,
    allowEdited,
    allowIncomplete,
    onReceived: (projects) => {
      lacking = toCompleteness(projects)
    },
  })
  return { status: 200, body: { ok: true, dryRun: false, projects: imported, ...lacking } } as const
}

function targetsOf(projects: readonly ArchiveProject[], requested: string | undefined): readonly string[] {
  if (projects.length === 0) throw invalidRequest('the archive has no project')
  return targetSlugs(projects, requested)
}

/** All targets before the first change: an archive whose second project is forbidden leaves the first as it is. */
function assertMayImport(
  caller: Caller,
  projects: readonly Pick<ArchiveProject, 'system'>[],
  targets: readonly string[],
): void {
  for (const [index, { system }] of projects.entries()) assertMayMove(caller, 'import', targets[index] ?? '', system)
}

async function toExaminedBody(container: Container, caller: Caller, target: TargetProject) {
  const { archived, project, stages } = target
  return {
    slug: archived.slug,
    targetSlug: project.slug,
    ...toRolesResult(await planRolesOf(container.control.prisma, target, caller)),
    stages: await Promise.all(stages.map((target) => toExaminedStage(container, target, stages))),
  }
}
