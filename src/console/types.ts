import type { components, operations } from '../client/generated/api.ts'

/* The answers of the HTTP interface, as `wharf/client` has them. Only types: no code. */
type Schemas = components['schemas']

type BodyOf<A> = A extends { readonly content: { readonly 'application/json': infer B } } ? B : never

type Answer<O extends keyof operations> = operations[O] extends { readonly responses: { readonly 200: infer A } }
  ? BodyOf<A>
  : never

export type Job = Schemas['Job']
export type Kept = Answer<'showUndo'>
type Imported = Answer<'importJobFile'>
type ImportedStage = Imported['projects'][number]['stages'][number]
type ProjectWith<S> = Omit<Imported['projects'][number], 'stages'> & { readonly stages: readonly S[] }
/** A stage as a dry run has it. */
export type ExaminedStage = Extract<ImportedStage, { readonly mode: string }>
/** What a dry run of an import answers. */
export interface Examined {
  readonly projects: readonly ProjectWith<ExaminedStage>[]
}
/** What a job has as its result, as far as it is one of an import. */
export interface JobResult {
  readonly projects?: readonly ProjectWith<Exclude<ImportedStage, ExaminedStage>>[]
}
export type Project = Schemas['Project']
export type ProjectOverview = Schemas['ProjectOverview']
export type Run = Schemas['ScheduleRun']
export type Schedule = Schemas['Schedule']
export type ScheduleDetail = Schemas['ScheduleDetail']
export type KeepPreview = Answer<'previewKeep'>
export type NextRuns = Answer<'previewSchedule'>
export type Overview = Schemas['StageOverview']
export type TableOverview = Overview['tables'][number]
export type Role = Schemas['Role']
export type Token = Schemas['Token']
export type CreatedToken = Schemas['NewToken']
export type LogEvent = Schemas['Event']
export type Status = Schemas['Status']
export type Doctor = Schemas['Doctor']
export type Queue = Schemas['Queue']
export type Attachment = Schemas['Attachment']
export type Webhook = Schemas['Webhook']
export type CreatedWebhook = Schemas['NewWebhook']
export type Delivery = Schemas['Delivery']
export type Me = Schemas['Me']

export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | null
}
