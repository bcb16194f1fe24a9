import { z } from 'zod'
import type { Queryable } from '../database/database.ts'
import { parseRequest, selectionsOf } from '../jobs/catalogue.ts'

/** An archive that was restored once, and was the same then. */
export interface ProvenArchive {
  readonly artifactId: string
  readonly key: string
  /** 64 hexadecimal digits. */
  readonly sha256: string
  readonly jobId: string
  /** When its job had made it. */
  readonly madeAt: Date
  /** The projects in it by slug; the stages of each, all where they are undefined. */
  readonly projects: ReadonlyMap<string, readonly string[] | undefined>
  /** Those of its projects that are there still, under the slug that they had. */
  readonly projectIds: readonly string[]
}

/** How many archives of one project are considered. */
const MAX_ARCHIVES = 50

interface Row {
  readonly artifactId: string
  readonly key: string
  readonly sha256: string
  readonly jobId: string
  readonly madeAt: Date
  readonly projectIds: readonly string[]
  readonly request: unknown
}

/** The proven archives that hold a project, the newest first. Those without some of its tables are not among them. */
export async function findProvenArchives(
  control: Queryable,
  project: { readonly id: string; readonly slug: string },
): Promise<readonly ProvenArchive[]> {
  const rows = await control.$queryRaw<Row[]>`
    SELECT artifact.id::text AS "artifactId", artifact.key, encode(artifact.sha256, 'hex') AS sha256, job.id::text AS "jobId",
           job.finished_at AS "madeAt", job.project_ids::text[] AS "projectIds", job.request
      FROM control.artifact JOIN control.job ON job.id = job_id
     WHERE artifact.kind = 'output' AND artifact.state = 'ready' AND artifact.proven_at IS NOT NULL
       AND artifact.damaged_at IS NULL AND job.kind = 'export' AND job.finished_at IS NOT NULL
       AND ${project.id}::uuid = ANY (job.project_ids)
     ORDER BY job.finished_at DESC LIMIT ${MAX_ARCHIVES}`
  return rows.flatMap(({ request, ...row }) => {
    const asked = parseRequest('export', request)
    const selections = asked.kind === 'export' ? selectionsOf(asked.request) : []
    const own = selections.find(({ slug }) => slug === project.slug)
    if (!own || (own.excludeTables ?? []).length > 0) return []
    return [{ ...row, projects: new Map(selections.map(({ slug, stages }) => [slug, stages])) }]
  })
}

const outcomeSchema = z.object({
  archives: z.array(
    z.object({ artifactId: z.string(), jobId: z.string(), madeAt: z.string(), stages: z.array(z.string()) }),
  ),
})

/** What was brought back of a project, the oldest archive first. */
export type Outcome = Readonly<z.output<typeof outcomeSchema>>

export async function readOutcome(control: Queryable, projectId: string): Promise<Outcome> {
  const row = await control.recoveredProject.findUnique({ where: { projectId } })
  return outcomeSchema.safeParse(row?.outcome).data ?? { archives: [] }
}

export const writeOutcome = (control: Queryable, projectId: string, outcome: Outcome): Promise<unknown> =>
  control.recoveredProject.upsert({
    where: { projectId },
    create: { projectId, outcome },
    update: { outcome },
  })
