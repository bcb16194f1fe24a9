import type { Container } from '../container.ts'
import type { ExportSelection, PatternSelection } from '../contract/export.ts'
import type { GoneProject, MatchedProjects } from '../contract/matched.ts'
import { conflict } from '../errors.ts'
import { type ExportRequest, selectionsOf } from '../jobs/catalogue.ts'
import type { Job } from '../jobs/job.ts'
import { couldMatch, findMatching, type MatchingProject, noMatch } from '../jobs/matching-projects.ts'
import { type HeldProject, readHeld } from '../jobs/schedules/schedule-record.ts'
import { specify } from '../jobs/transitions.ts'
import { matchesPattern } from '../lib/wildcards.ts'
import { type Caller, findCaller } from '../projects/access.ts'
import { lookAgain } from '../projects/attached/attach-server.ts'
import { type AttachedServer, listServers } from '../projects/attached/attached-server.ts'
import { findGone } from '../projects/attached/find-gone.ts'
import { slugOfName } from '../projects/attached/slug-of-name.ts'
import { findProject } from '../projects/projects.ts'
import { Stopped } from './stopped.ts'

/** What the patterns of an export stand for today. */
export interface Matched {
  readonly job: Job
  /** The projects that are exported by patterns. */
  readonly held: readonly HeldProject[]
  readonly report: MatchedProjects
}

/** How many projects of Wharf's own server one archive may hold: each needs a session of its own there. */
const MAX_HOSTED = 32
const MAX_ALL = 256

/**
 * Finds out which projects the patterns of an export stand for, after a look at the attached servers whose databases could
 * be among them, and records them as what the job is about.
 *
 * @returns undefined where nobody may ask for the job any more, which is for others to say.
 * @throws {AppError} NOT_FOUND where a pattern stands for nothing; ATTACHED_FAILED, FORBIDDEN where a server, or a database,
 *   cannot be looked at: it may be there; CONFLICT where there are too many.
 */
export async function matchProjects(
  container: Container,
  job: Job,
  { matched: _, ...request }: ExportRequest & { readonly patterns: readonly PatternSelection[] },
): Promise<Matched | undefined> {
  const { prisma } = container.control
  const caller = await findCaller(prisma, job.createdBy)
  if (!caller) return undefined
  const refused = await lookAround(container, caller, request.patterns)
  const matching = await findMatching(prisma, caller, request.patterns)
  const named = new Set(request.projects.map(({ slug }) => slug))
  const { live, gone } = await findLive(container, matching)
  const missing = request.patterns.find(
    ({ pattern }) => !live.some((each) => matchesPattern(pattern, each.project.slug)),
  )
  if (missing) throw noMatch(missing.pattern, ': what there was is gone')
  const chosen = live.filter(({ project }) => !named.has(project.slug))
  await assertNotTooMany(container, request.projects, chosen)
  const held = chosen.map(({ project: { id, slug } }) => ({ id, slug }))
  const report = { refused, ...(await compare(container, job, { caller, held, gone })) }
  logReport(container, job, report)
  const asked = { ...request, matched: chosen.map(({ selection }) => selection) }
  const found = await prisma.project.findMany({
    where: { slug: { in: selectionsOf(asked).map(({ slug }) => slug) } },
    select: { id: true },
  })
  const specified = await specify(prisma, job, { request: asked, projectIds: found.map(({ id }) => id) })
  if (!specified) throw new Stopped('lost')
  return { job: specified, held, report }
}

/** Only the root token attaches databases, so only its schedules have servers looked at. */
async function lookAround(
  container: Container,
  caller: Caller,
  patterns: readonly PatternSelection[],
): Promise<MatchedProjects['refused']> {
  if (caller.kind !== 'root') return []
  const refused: MatchedProjects['refused'] = []
  for (const server of await listServers(container.control.prisma)) {
    if (!patterns.some(({ pattern }) => couldMatch(pattern, server.prefix))) continue
    const { databases } = await lookAgain(container, server.name)
    const meant = databases.filter((each) => each.outcome === 'refused' && isMeant(patterns, server, each))
    refused.push(
      ...meant.map(({ database, reason }) => ({ server: server.name, database, reason: reason ?? 'it was refused' })),
    )
  }
  return refused
}

/** Whether the project that a database is, or would be, is one that the patterns stand for, as far as that is known. */
function isMeant(
  patterns: readonly PatternSelection[],
  { prefix }: AttachedServer,
  { database, project }: { readonly database: string; readonly project: string | null },
): boolean {
  const slug = project ?? slugOfName(database, prefix)
  return slug === undefined || patterns.some(({ pattern }) => matchesPattern(pattern, slug))
}

/** Leaves out what is gone. */
async function findLive(
  { attached }: Container,
  matching: readonly MatchingProject[],
): Promise<{ readonly live: readonly MatchingProject[]; readonly gone: readonly GoneProject[] }> {
  const live: MatchingProject[] = []
  const gone: GoneProject[] = []
  for (const each of matching) {
    const { project, selection } = each
    const wanted = selection.stages ?? project.stages.map(({ slug }) => slug)
    const lost = await findGone(attached, project)
    const ofThose = lost.filter(({ stage }) => stage === null || wanted.includes(stage))
    gone.push(...ofThose)
    const stages = wanted.filter((slug) => !ofThose.some(({ stage }) => stage === null || stage === slug))
    if (ofThose.length === 0) live.push(each)
    else if (stages.length > 0) live.push({ ...each, selection: { ...selection, stages } })
  }
  return { live, gone }
}

async function assertNotTooMany(
  { control }: Container,
  named: readonly ExportSelection[],
  chosen: readonly MatchingProject[],
): Promise<void> {
  const projects = await Promise.all(named.map(({ slug }) => findProject(control.prisma, slug)))
  const all = [...projects, ...chosen.map(({ project }) => project)]
  const hosted = all.filter(({ location }) => location !== 'attached')
  if (hosted.length <= MAX_HOSTED && all.length <= MAX_ALL) return
  throw conflict(
    `the patterns stand for ${all.length} projects, ${hosted.length} of them on Wharf's own server, and one archive can hold ` +
      `${MAX_ALL}, ${MAX_HOSTED} of them on that server: make several schedules with narrower patterns`,
  )
}

/** What is new and what is gone since the last run that succeeded. */
async function compare(
  { control: { prisma } }: Container,
  { scheduleId }: Job,
  now: { readonly caller: Caller; readonly held: readonly HeldProject[]; readonly gone: readonly GoneProject[] },
): Promise<Pick<MatchedProjects, 'newProjects' | 'goneProjects'>> {
  const before = await readHeld(prisma, scheduleId)
  const isAmong = (projects: readonly HeldProject[], { id }: HeldProject): boolean =>
    projects.some((each) => each.id === id)
  const newProjects = before ? now.held.filter((each) => !isAmong(before, each)).map(({ slug }) => slug) : []
  const lost: GoneProject[] = []
  for (const each of before ?? []) {
    if (isAmong(now.held, each) || now.gone.some(({ project }) => project === each.slug)) continue
    const isThere = (await prisma.project.count({ where: { id: each.id } })) > 0
    const mayKnow = now.caller.kind === 'root' || now.caller.roles.has(each.slug)
    lost.push({ project: each.slug, stage: null, gone: isThere && mayKnow ? 'permission' : 'project' })
  }
  return { newProjects, goneProjects: [...now.gone, ...lost] }
}

function logReport({ logger }: Container, { id: jobId, scheduleId }: Job, report: MatchedProjects): void {
  const { newProjects, goneProjects, refused } = report
  if (newProjects.length > 0)
    logger.info({ jobId, scheduleId, newProjects }, 'a schedule exports projects that are new')
  if (goneProjects.length > 0) logger.warn({ jobId, scheduleId, goneProjects }, 'what a schedule would export is gone')
  if (refused.length > 0) logger.warn({ jobId, scheduleId, refused }, 'databases of a server were refused')
}
