import { z } from 'zod'
import { attachedServerSchema, lookedAtServerSchema } from '../contract/attached-server.ts'
import { attachmentSchema } from '../contract/attachment.ts'
import { count, id, timeText } from '../contract/fields.ts'
import { doctorSchema, statusSchema } from '../contract/health.ts'
import { examinedSchema, importedSchema } from '../contract/import.ts'
import { completenessFields } from '../contract/not-exported.ts'
import { faultSchema } from '../contract/problem.ts'
import { projectSchema, schemaChangeSchema, stageSchema, undoneSchema } from '../contract/project.ts'
import { roleSchema } from '../contract/role.ts'
import { createdTokenSchema, tokenSchema } from '../contract/token.ts'
import { createdWebhookSchema } from '../contract/webhook.ts'
import { shownJob } from './jobs/job-api.ts'
import { scheduleWithRuns, shownSchedule } from './schedule-text.ts'
import { shownDelivery, shownWebhook } from './webhook-text.ts'

const text = z.string()
const texts = z.array(text)
const seconds = z.number().nonnegative()

const named = z.object({ id: text, name: text })
const deletedById = z.object({ deleted: named })
const ofProject = { project: text }
const stageOf = stageSchema.extend(ofProject)
const projectAndStage = z.object({ ...ofProject, stage: text })
const projectAndStages = z.object({ ...ofProject, stages: texts })

const copied = {
  stages: texts,
  tables: count,
  rows: count,
  system: z.object({ roles: count, events: count }).optional(),
  ...completenessFields,
  bytes: count,
  seconds,
}
const exported = z.object({ ...ofProject, file: text, ...copied })
const exportedByJob = z.object({
  ...{ ...ofProject, jobId: id, rows: count, file: text, bytes: count },
  ...completenessFields,
})

const importedStages = importedSchema.shape.projects.element.shape.stages.element
const leftOutStages = z.array(importedStages.pick({ slug: true, leftOut: true, notReplaced: true }))
const transferred = z.object({
  ...{ source: text, target: text, ...copied, leftOut: leftOutStages },
  rolesLeftOut: importedSchema.shape.projects.element.shape.rolesLeftOut,
})

const notInArchive = z.object({
  ...{ kind: text, name: text, detail: text.optional(), rows: z.boolean().optional() },
})
const verifiedStage = z.object({
  slug: text,
  extensions: z.array(z.object({ name: text, version: text })),
  tables: z.array(z.object({ name: text, rows: count })),
  rows: count,
  complete: z.boolean().nullable(),
  notExported: z.array(notInArchive),
})
const verified = z.object({
  ...{ file: text, complete: z.boolean().nullable(), version: z.int(), generator: text },
  ...{ createdAt: text, snapshotAt: text, rows: count, lines: count, bytes: count },
  projects: z.array(
    z.object({
      ...{ slug: text, targetSlug: text.optional(), system: z.boolean(), snapshotAt: text.optional() },
      ...{ roles: count, events: count, stages: z.array(verifiedStage) },
    }),
  ),
})

const recovered = z.object({
  ...{ backup: text, madeAt: timeText },
  projects: z.array(
    z.object({
      ...{ project: text, missing: texts, problems: texts },
      archives: z.array(z.object({ jobId: text, madeAt: text, stages: texts })),
    }),
  ),
  ...{ attached: texts, schedulesTurnedOff: texts },
})

const webhookWithSecret = createdWebhookSchema.omit({ createdAt: true })
const profile = z.object({ profile: text, address: text })
const startedJob = shownJob.pick({ id: true, kind: true, status: true }).extend({ scheduleId: id.nullable() })

/** What each command prints with `--json`, by its name. `docs/command-line.schema.json` is made from it. */
export const RESULTS: Readonly<Record<string, z.ZodType>> = {
  doctor: doctorSchema,
  status: statusSchema,
  backup: z.object({ backup: text, store: text, madeAt: timeText, bytes: count, removed: texts }),
  recover: recovered,
  'data:export': z.union([exported, exportedByJob]),
  'data:import': z.union([
    importedSchema.extend({ file: text, seconds }),
    examinedSchema.extend({ file: text, dryRun: z.literal(true) }),
  ]),
  'data:transfer': transferred,
  'data:verify': verified,
  'data:undo': z.union([
    undoneSchema.omit({ ok: true }).extend({ ...ofProject, stage: text }),
    projectAndStage.extend({ discarded: z.literal(true) }),
  ]),
  'project:create': projectSchema,
  'project:list': z.object({ projects: z.array(projectSchema) }),
  'project:show': projectSchema.extend({
    roles: z.array(roleSchema),
    attachment: attachmentSchema.nullable().optional(),
    problem: text.optional(),
  }),
  'project:log': projectSchema,
  'project:delete': z.object({ deleted: projectAndStages }),
  'project:attach': z.union([projectSchema.extend({ database: text }), lookedAtServerSchema]),
  'project:detach': z.object({ detached: z.union([projectAndStages, z.object({ server: text, projects: texts })]) }),
  'project:servers': z.object({ servers: z.array(attachedServerSchema) }),
  'stage:create': stageOf,
  'stage:attach': stageOf,
  'stage:log': stageOf,
  'stage:list': z.object({ ...ofProject, stages: z.array(stageSchema) }),
  'stage:detach': z.object({ detached: projectAndStage }),
  'stage:delete': z.object({ deleted: projectAndStage }),
  'schema:apply': schemaChangeSchema.extend(ofProject),
  'role:list': z.object({ roles: z.array(roleSchema) }),
  'role:set': roleSchema,
  'role:delete': z.object({ deleted: z.object({ ...ofProject, role: text }) }),
  'token:create': createdTokenSchema,
  'token:list': z.object({ tokens: z.array(tokenSchema) }),
  'token:revoke': z.object({ revoked: named }),
  'profile:add': profile,
  'profile:list': z.object({ profiles: z.array(profile) }),
  'profile:remove': profile.pick({ profile: true }),
  'job:list': z.object({ jobs: z.array(shownJob) }),
  'job:show': shownJob,
  'job:watch': shownJob,
  'job:cancel': shownJob,
  'job:download': z.object({ file: text, bytes: count }),
  'schedule:create': shownSchedule,
  'schedule:list': z.object({ schedules: z.array(shownSchedule) }),
  'schedule:show': scheduleWithRuns,
  'schedule:edit': shownSchedule,
  'schedule:pause': shownSchedule,
  'schedule:resume': shownSchedule,
  'schedule:run': startedJob,
  'schedule:delete': deletedById,
  'webhook:create': webhookWithSecret,
  'webhook:list': z.object({ webhooks: z.array(shownWebhook) }),
  'webhook:show': shownWebhook,
  'webhook:edit': z.union([shownWebhook, webhookWithSecret]),
  'webhook:delete': deletedById,
  'webhook:test': shownDelivery,
  'webhook:deliveries': z.object({ deliveries: z.array(shownDelivery) }),
  'webhook:resend': shownDelivery,
}

/** What a command that fails prints with `--json`, as the last line of standard error. */
export const failureSchema = z.object({ error: z.object({ code: text, detail: text, errors: z.array(faultSchema) }) })
