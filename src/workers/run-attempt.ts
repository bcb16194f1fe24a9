import { setMaxListeners } from 'node:events'
import type { Container } from '../container.ts'
import { databaseFailure, isWithoutSession, reportsDamage } from '../database/sqlstate-meanings.ts'
import { AppError } from '../errors.ts'
import { assertStillAuthorised, lockAuthorisation } from '../jobs/authorisation.ts'
import { CATALOGUE, parseRequest } from '../jobs/catalogue.ts'
import { endSessions } from '../jobs/end-sessions.ts'
import type { Job, JobStatus } from '../jobs/job.ts'
import { jobTimedOut, toJobError } from '../jobs/job-error.ts'
import { trackProgress } from '../jobs/progress.ts'
import { unsealSecrets } from '../jobs/sealed-secrets.ts'
import {
  beat,
  begin,
  endCancelled,
  fail,
  giveBack,
  retryLater,
  sessionNameOf,
  succeed,
  waitForRoom,
} from '../jobs/transitions.ts'
import { jobSubject } from '../projects/sealed-subjects.ts'
import { dropLoadedBy } from '../transfer/import/shadow-schemas.ts'
import { endInDoubt } from './end-in-doubt.ts'
import { keepAlive } from './keep-alive.ts'
import { type Matched, matchProjects } from './match-projects.ts'
import { runExport } from './processors/export.ts'
import { runImport } from './processors/import.ts'
import type { AttemptContext } from './processors/processor.ts'
import { runTransfer } from './processors/transfer.ts'
import { Stopped } from './stopped.ts'

/** What the queue is to do with a job after an attempt. */
export type Outcome =
  /** It has ended as this says, or is somebody else's: the queue may forget it. */
  | { readonly kind: 'over'; readonly ended?: JobStatus | undefined }
  /** It waits for the next worker. */
  | { readonly kind: 'given back' }
  | { readonly kind: 'later'; readonly delayMs: number }

const OVER: Outcome = { kind: 'over' }

const endedAs = (ended: JobStatus | undefined): Outcome => ({ kind: 'over', ended })

/**
 * Takes a queued job, works on it, and records how that went. Everything that can go wrong is in the record afterwards;
 * nothing is thrown but where the database can't be reached, and then the sweep finds the job again.
 *
 * @param stopping aborted when this process is to end.
 */
export async function runAttempt(container: Container, id: string, stopping: AbortSignal): Promise<Outcome> {
  const { control, jobTimings: timings, logger } = container
  const job = await begin(control.prisma, id)
  if (!job) return OVER
  const log = logger.child({ jobId: id, kind: job.kind, attempt: job.attempt })
  log.info('job began')
  const begunAtMs = performance.now()
  const noteEnd = (outcome: Outcome): Outcome => {
    if (outcome.kind === 'over' && outcome.ended) {
      const ended = { kind: job.kind, status: outcome.ended }
      container.endedJobs.count(ended)
      container.endedJobs.time(ended, (performance.now() - begunAtMs) / 1_000)
    }
    return outcome
  }

  const progress = trackProgress('reading')
  const stop = new AbortController()
  const ended = new AbortController()
  const timeout = AbortSignal.timeout(CATALOGUE[job.kind].timeoutMs)
  const signal = AbortSignal.any([stop.signal, stopping, timeout])
  setMaxListeners(0, signal)
  const endOwnSessions = (): void => {
    void Promise.allSettled([endSessions(control.prisma, job)])
  }
  signal.addEventListener('abort', endOwnSessions, { once: true })
  const alive = keepAlive({
    control,
    logger: log,
    job,
    progress,
    timings,
    stop: (reason) => stop.abort(reason),
    signal: ended.signal,
  })
  const cleanUps: (() => Promise<void>)[] = [() => dropLoaded(container, job)]
  const cleanUp = (): Promise<unknown> => Promise.allSettled(cleanUps.map((each) => each()))
  try {
    await work(container, job, { signal, progress, whenEnded: (each) => void cleanUps.push(each) })
    await cleanUp()
    log.info('job succeeded')
    container.endedJobs.addBytes(job.kind, progress.current().bytes)
    return noteEnd(endedAs('succeeded'))
  } catch (error) {
    ended.abort()
    await alive
    const cause = timeout.aborted ? new Stopped('timed out') : signal.aborted ? signal.reason : error
    const outcome = noteEnd(await settle(container, job, cause))
    if (outcome.kind === 'over' && outcome.ended) await cleanUp()
    return outcome
  } finally {
    signal.removeEventListener('abort', endOwnSessions)
    ended.abort()
    await alive
  }
}

/** Drops what attempts of a job have loaded, and that has not taken the place of a stage. Where that fails, the sweep does it. */
async function dropLoaded({ system }: Container, { id, kind }: Job): Promise<void> {
  if (kind !== 'export') await Promise.allSettled([dropLoadedBy(system, id)])
}

async function work(
  container: Container,
  begun: Job,
  { signal, progress, whenEnded }: Pick<AttemptContext, 'signal' | 'progress' | 'whenEnded'>,
): Promise<void> {
  const { control } = container
  const matched = await matchPatterns(container, begun)
  const job = matched?.job ?? begun
  await assertStillAuthorised(control.prisma, job)
  const asked = parseRequest(job.kind, job.request)
  const context: AttemptContext = {
    container,
    job,
    matched,
    signal,
    progress,
    whenEnded,
    sessionName: sessionNameOf(job),
    secrets: asked.kind === 'transfer' ? await readSecrets(container, job) : {},
    authorise: (tx) => lockAuthorisation(tx, job),
    async succeed(tx, result, expiresInDays) {
      signal.throwIfAborted()
      const outcome = { result, progress: { ...progress.current(), percent: 100 } }
      const isOurs = await succeed(tx, job, expiresInDays === undefined ? outcome : { ...outcome, expiresInDays })
      if (!isOurs) throw new Stopped('lost')
    },
  }
  switch (asked.kind) {
    case 'export':
      return runExport(context, asked.request)
    case 'import':
      return runImport(context, asked.request)
    case 'transfer':
      return runTransfer(context, asked.request)
  }
}

/** Reads the secrets of a request; only a transfer has any. */
async function readSecrets({ control, seal }: Container, { id }: Job): Promise<Readonly<Record<string, string>>> {
  const row = await control.prisma.job.findUnique({ where: { id }, select: { sealedSecrets: true } })
  return unsealSecrets(seal, row?.sealedSecrets, jobSubject(id))
}

/** Settles what an export is about that names projects by patterns. */
async function matchPatterns(container: Container, job: Job): Promise<Matched | undefined> {
  const { kind, request } = parseRequest(job.kind, job.request)
  if (kind !== 'export') return undefined
  const { patterns } = request
  return patterns && matchProjects(container, job, { ...request, patterns })
}

const DAMAGE = 'PostgreSQL said, in a job, that its data or its disk is damaged'

/** Records how an attempt failed. */
async function settle(container: Container, job: Job, cause: unknown): Promise<Outcome> {
  const {
    control: { prisma },
    jobTimings: { retryMs, busyMs, busyForMs },
    logger,
  } = container
  const log = logger.child({ jobId: job.id, attempt: job.attempt })
  const why = cause instanceof Stopped ? cause.why : undefined
  // A cancelled job also looks lost to the transaction that would have ended it well.
  if (why === 'cancelled' || (await beat(prisma, job, null)) === 'cancelled') {
    const late = await endInDoubt(container, job)
    if (late) {
      log.warn({ late }, 'the job was cancelled when its import had been committed, or may have been')
      return endedAs(late)
    }
    const cancelled = await endCancelled(prisma, job)
    log.info('job cancelled')
    return endedAs(cancelled?.status)
  }
  if (why === 'lost') {
    log.warn('the job is not this attempt’s any more; nothing of it was committed')
    return OVER
  }
  if (why === 'shutdown') {
    const queued = await giveBack(prisma, job)
    log.info('job given back')
    return queued ? { kind: 'given back' } : OVER
  }
  const expected = cause instanceof AppError ? cause : databaseFailure(cause)
  const isBusy = expected?.code === 'PROJECT_BUSY' || isWithoutSession(cause)
  if (isBusy && (await waitForRoom(prisma, job, { forMs: busyForMs, error: toJobError(cause) }))) {
    log.warn({ err: cause }, 'the job has no session or no turn, and waits for one')
    return { kind: 'later', delayMs: busyMs }
  }
  // The same may go well later, without anybody doing anything about it.
  if (expected?.retryAfterSeconds !== undefined && (await retryLater(prisma, job, toJobError(cause)))) {
    log.warn({ err: cause }, 'job failed, and is tried again')
    return { kind: 'later', delayMs: retryMs[Math.min(job.attempt, retryMs.length) - 1] ?? 0 }
  }
  const late = await endInDoubt(container, job)
  if (late) {
    log.warn({ err: cause, late }, 'the job failed when its import had been committed, or may have been')
    return endedAs(late)
  }
  const error = toJobError(why === 'timed out' ? jobTimedOut() : cause)
  if (error.code === 'INTERNAL') log.error({ err: cause }, 'job failed unexpectedly')
  else if (reportsDamage(cause)) log.error({ err: cause, code: error.code }, DAMAGE)
  else log.warn({ code: error.code, detail: error.detail }, 'job failed')
  return endedAs((await fail(prisma, job, error))?.status)
}
