import { compressArchive } from '../../archive/compress-archive.ts'
import { selectFrom, selectProject } from '../../archive/select-project.ts'
import type { Container } from '../../container.ts'
import type { Transaction } from '../../database/database.ts'
import { invalidRequest } from '../../errors.ts'
import type { ImportRequest } from '../../jobs/catalogue.ts'
import { readFiles } from '../../jobs/job-artifacts.ts'
import { findByKey, requestHash } from '../../jobs/submit.ts'
import { assertWhole, findUpload, partsOf, removeUpload, touchUpload } from '../../jobs/uploads/upload.ts'
import { borrowed, copied } from '../../lib/borrowed-bytes.ts'
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
import { parsePrefer } from '../prefer.ts'
import { acceptJob, idempotencyOf } from './accept-job.ts'
import type { ImportCall } from './import-call.ts'
import { acceptArchive, acceptUpload } from './import-job.ts'

/**
 * Answers a call that comes with the archive, or says where it is stored.
 *
 * @param archive compressed or not.
 * @param from the export that made it, where this server did.
 */
export function answerImport(
  container: Container,
  archive: AsyncIterable<Buffer>,
  call: ImportCall,
  from?: ImportRequest['from'],
) {
  const { query, headers } = call
  const isJob = !query.dryRun && parsePrefer(headers.prefer).respondAsync
  if (isJob)
    return acceptArchive(container, { ...toJobArchive(container, toKeep(archive, query), call), headers, from })
  const bytes = selectFrom(archive, query.project)
  return query.dryRun ? examine(container, bytes, call) : importNow(container, bytes, call)
}

/** What of an archive a job is to import. */
const toKeep = (archive: AsyncIterable<Buffer>, { project }: ImportCall['query']): AsyncIterable<Buffer> =>
  project === undefined ? archive : copied(compressArchive(borrowed(selectProject(archive, project))))

function toJobArchive(container: Container, bytes: AsyncIterable<Buffer>, call: ImportCall) {
  const { query, caller } = call
  return {
    bytes,
    targetSlug: query.targetSlug,
    jobs: query.jobs,
    options: checkOptions(container, call),
    caller,
    authorise,
  }
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
  const archive = readFiles(container.artifacts, await partsOf(prisma, uploadId))
  const isWhole = query.project === undefined
  if (isJob && isWhole)
    return acceptUpload(container, { ...toJobArchive(container, archive, call), uploadId, idempotency })
  if (isJob)
    return acceptArchive(container, { ...toJobArchive(container, toKeep(archive, query), call), headers, idempotency })
  const bytes = selectFrom(archive, query.project)
  if (query.dryRun) return examine(container, bytes, call)
  const answer = await importNow(container, bytes, call)
  if (isWhole) await removeUpload(prisma, uploadId)
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
    jobs: query.jobs,
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
