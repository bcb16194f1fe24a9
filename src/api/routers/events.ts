import { z } from 'zod'
import type { Container } from '../../container.ts'
import { eventSchema } from '../../contract/event.ts'
import { slug } from '../../contract/fields.ts'
import { pageOf } from '../../contract/page.ts'
import { inOtherDatabase } from '../../errors.ts'
import { newestEvents, type ShownEvent } from '../../events/newest-events.ts'
import type { Caller } from '../../projects/access.ts'
import { findProject } from '../../projects/projects.ts'
import { findStage } from '../../projects/stages.ts'
import { json } from '../answer.ts'
import { pageQuery, readPage } from '../paging.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { timeOrNull } from './job-body.ts'

const route = routesUnder('Projects')

const list = route('GET /projects/{slug}/stages/{stage}/events', {
  operationId: 'listEvents',
  summary: 'The event log of a stage, the newest first',
  description: 'Of a stage in the database that projects share; the logs of others are in their archives.',
  access: { by: 'permission', permission: 'system.export', project: 'slug' },
  params: z.object({ slug, stage: slug }),
  query: z.object({
    ...pageQuery,
    after: z
      .string()
      .regex(/^\d{1,18}-\d{1,18}$/)
      .optional(),
  }),
  answers: { 200: json(pageOf(eventSchema), 'A page of events.') },
  errors: ['NOT_FOUND', 'ATTACHED_PROJECT'],
})

/** `/projects/{slug}/stages/{stage}/events` */
export function eventRoutes({ control, system }: Container): readonly BoundRoute<Caller>[] {
  return [
    list.handle<Caller>(async ({ params, query }) => {
      const project = await findProject(control.prisma, params.slug)
      if (project.location !== 'shared') {
        throw inOtherDatabase(project.slug, 'its event log is kept there', 'export it with its system section')
      }
      const stage = findStage(project, params.stage)
      const find = (limit: number) => newestEvents(system, stage.id, { limit, before: toPosition(query.after) })
      const { items, next } = await readPage(query, find, cursorOf)
      return { status: 200, body: { items: items.map(toBody), next } }
    }),
  ]
}

const cursorOf = ({ position, ordinal }: ShownEvent): string => `${position}-${ordinal}`

function toPosition(cursor: string | undefined) {
  const [position, ordinal] = cursor?.split('-') ?? []
  return position === undefined || ordinal === undefined ? undefined : { position, ordinal }
}

const toBody = (event: ShownEvent): z.input<typeof eventSchema> => {
  const { id, kind, table, rowCount, rows, tokenId, occurredAt, importedAt } = event
  return {
    ...{ id, kind, table, rowCount, tokenId },
    rows: [...rows],
    occurredAt: occurredAt.toISOString(),
    importedAt: timeOrNull(importedAt),
    cursor: cursorOf(event),
  }
}
