import { z } from 'zod'
import type { Container } from '../../container.ts'
import { projectOverviewSchema } from '../../contract/overview.ts'
import { pageOf } from '../../contract/page.ts'
import type { Night } from '../../jobs/schedules/nights.ts'
import {
  isOverdue,
  type Protection,
  type ReadyArchive,
  readCoverings,
  readProtection,
} from '../../jobs/schedules/overview.ts'
import type { Caller } from '../../projects/access.ts'
import { listProjects, type Project, type ProjectPage } from '../../projects/projects.ts'
import { readStageFacts, type StageFacts } from '../../projects/stage-facts.ts'
import { json } from '../answer.ts'
import { pageQuery, readPage } from '../paging.ts'
import { queryFlag } from '../query.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { timeOrNull } from './job-body.ts'
import { searchQuery, visibleTo } from './projects.ts'

const route = routesUnder('Projects')

const show = route('GET /overview', {
  operationId: 'showOverview',
  summary: 'The projects that the token may know of, each with how well it is backed up',
  description:
    'Schedules, archives and runs are those that the token may see: without `content.export`, a project has none. An archive ' +
    'is there as long as it can be downloaded, and `lastProven` is the newest that was restored and found to be identical.',
  access: { by: 'token' },
  query: z.object({
    ...pageQuery,
    search: searchQuery,
    overdue: queryFlag().meta({ description: 'Only projects with `overdueSince`.' }),
  }),
  answers: { 200: json(pageOf(projectOverviewSchema), 'A page of projects, by slug.') },
})

/** `/overview` */
export function overviewRoutes({ control, system }: Container): readonly BoundRoute<Caller>[] {
  return [
    show.handle<Caller>(async ({ query: { overdue, ...query }, caller }) => {
      const coverings = await readCoverings(control, caller)
      const list: ListProjects = (page) => listProjects(control.prisma, { ...page, ...visibleTo(caller) })
      const wanted = overdue ? onlyThose(list, (project) => isOverdue(project, coverings)) : list
      const find = (limit: number) => wanted({ ...query, limit })
      const { items, next } = await readPage(query, find, ({ slug }) => slug)
      const protection = await readProtection(control, caller, items, coverings)
      const facts = await readStageFacts(system, items)
      return { status: 200, body: { items: items.map((each) => toBody(each, protection.get(each.id), facts)), next } }
    }),
  ]
}

type ListProjects = (page: ProjectPage) => Promise<readonly Project[]>

/** So many are looked at, at a time, to find those that are wanted. */
const LOOKED_AT = 500

/** Lists only some of the projects: which ones depends on patterns of schedules, and on what their authors may do. */
const onlyThose =
  (list: ListProjects, isWanted: (project: Project) => boolean): ListProjects =>
  async ({ limit, ...page }) => {
    const found: Project[] = []
    for (let { after } = page; ; ) {
      const looked = await list({ ...page, after, limit: LOOKED_AT })
      found.push(...looked.filter(isWanted))
      if (looked.length < LOOKED_AT || found.length >= limit) return found.slice(0, limit)
      after = looked.at(-1)?.slug
    }
  }

type Body = z.input<typeof projectOverviewSchema>

function toBody(
  { slug, location, stages }: Project,
  protection: Protection | undefined,
  facts: ReadonlyMap<string, StageFacts>,
): Body {
  return {
    slug,
    attached: location === 'attached',
    stages: stages.map((stage) => ({
      slug: stage.slug,
      sizeBytes: facts.get(stage.id)?.sizeBytes ?? null,
      changedAt: timeOrNull(facts.get(stage.id)?.changedAt ?? null),
    })),
    schedules: (protection?.schedules ?? []).map(({ id, name, enabled, nextRunAt }) => ({
      ...{ id, name, enabled },
      nextRunAt: timeOrNull(nextRunAt),
    })),
    lastArchive: toArchiveBody(protection?.lastArchive),
    lastProven: toArchiveBody(protection?.lastProven),
    overdueSince: timeOrNull(protection?.overdueSince ?? null),
    nights: (protection?.nights ?? []).map(toNightBody),
  }
}

const toArchiveBody = (archive: ReadyArchive | undefined): Body['lastArchive'] =>
  archive
    ? {
        jobId: archive.jobId,
        finishedAt: archive.finishedAt.toISOString(),
        provenAt: timeOrNull(archive.provenAt),
      }
    : null

const toNightBody = ({ date, outcome, run }: Night): Body['nights'][number] => ({
  ...{ date, outcome },
  dueAt: timeOrNull(run?.dueAt ?? null),
  jobId: run?.jobId ?? null,
  hasArchive: run?.jobId !== null && run?.hasArchive === true,
})
