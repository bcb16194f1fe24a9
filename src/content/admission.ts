import { hash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Permission } from '../contract/role.ts'
import type { Database } from '../database/database.ts'
import { isDataException } from '../database/sqlstate.ts'
import { notFound } from '../errors.ts'
import { readStageVersions, type StageVersion } from '../events/stage-versions.ts'
import { createBatcher } from '../lib/batcher.ts'
import { SLUG_PATTERN } from '../lib/slug.ts'
import { permissionMissing } from '../projects/assert-permission.ts'
import { assertValid, tokenNeeded } from '../projects/token-validity.ts'
import { isSeen, type ReadAttachedVersion, refuseWrites, versionFor } from './attached-stages.ts'
import { type Grant, readGrants } from './grants.ts'
import { onceFewWait } from './table-shares.ts'

/** What may be done with content over HTTP. */
export type ContentPermission = Extract<Permission, 'content.read' | 'content.write'>

/** What a request asks for, and with which token, before either is checked. */
export interface ContentRequest {
  /** Undefined where the request has no `Authorization` header. */
  readonly token: string | undefined
  readonly project: string
  readonly stage: string
  readonly permission: ContentPermission
  /** Of which rows are asked for; undefined for the stage at a glance. */
  readonly relation?: string | undefined
  /** Called with the token's owner as soon as it is known: `root`, or the token's id. */
  readonly identify: (tokenId: string) => void
}

/** Somebody who was let in, and how the stage stood at a moment after they asked. */
export interface ContentAccess {
  /** `root`, the token's id, or undefined for a request without one. */
  readonly tokenId: string | undefined
  /** Its login is null where it is in another database than the shared one. */
  readonly project: {
    readonly id: string
    readonly slug: string
    readonly login: string | null
    readonly addressOf: string | null
  }
  readonly stage: {
    readonly id: string
    readonly slug: string
    readonly schemaName: string
    readonly logEvents: boolean
  }
  /** Whether the log sees all that is asked for. What it does not see is never taken for known. */
  readonly isSeen: boolean
  /** The name of the caller's role. */
  readonly role: string
  /** What answers depend on beside the request: two with the same rights may share an answer. */
  readonly rights: string
  readonly version: StageVersion
}

/** @throws {AppError} UNAUTHENTICATED, NOT_FOUND, ATTACHED_PROJECT, or FORBIDDEN, naming the permission that is missing. */
export type AdmitContentRequest = (request: ContentRequest) => Promise<ContentAccess>

/** For how many stages it is remembered under which id they are looked for first. */
const MAX_HINTS = 10_000

/**
 * Decides who may read or write a stage. Nothing that was read before a request arrived counts for it: a token or a role that was revoked
 * ends with the next request, in every process. What makes that cheap is that requests which arrive together are
 * looked up together.
 */
export function createAdmission(options: {
  readonly control: Database
  readonly system: Database
  readonly rootTokenHash: Uint8Array
  readonly attachedVersion: ReadAttachedVersion
}): AdmitContentRequest {
  const { control, system, rootTokenHash, attachedVersion } = options
  // Under which id a stage was found before. Only a guess, by which its version is read beside the grants and not after.
  const stageIds = new LRUCache<string, string>({ max: MAX_HINTS })

  const ask = createBatcher<Question, Grant>(
    async (questions) => {
      if (control === system) return readGrants(control.pool, questions, { versions: true })
      const guesses = [...questions.values()].flatMap(({ path }) => stageIds.get(path) ?? [])
      const [grants, guessed] = await Promise.all([
        readGrants(control.pool, questions, { versions: false }),
        readStageVersions(system.pool, guesses),
      ])
      const missing: string[] = []
      for (const [key, { stage }] of grants) {
        const path = questions.get(key)?.path
        if (!stage || path === undefined) continue
        stageIds.set(path, stage.id)
        if (!guessed.has(stage.id)) missing.push(stage.id)
      }
      const versions = new Map([...guessed, ...(await readStageVersions(system.pool, missing))])
      return new Map(
        [...grants].map(([key, grant]) => [key, { ...grant, version: grant.stage && versions.get(grant.stage.id) }]),
      )
    },
    { isOfOneQuestion: isDataException, gather, mostRunning: MOST_RUNNING },
  )

  return async ({ token, project, stage, permission, relation, identify }) => {
    // Requests are looked up together, so a text that no slug can have, and that PostgreSQL may not even take, is not
    // handed on. Nothing has an empty slug.
    const named = SLUG_PATTERN.test(project) && SLUG_PATTERN.test(stage) ? { project, stage } : NOWHERE
    const path = `${named.project}/${named.stage}`
    const digest = token === undefined ? undefined : hash('sha256', token, 'buffer')
    const isRoot = digest !== undefined && timingSafeEqual(digest, rootTokenHash)
    const key = `${isRoot ? 'root' : (digest?.toString('latin1') ?? '')}\n${path}`
    const grant = await ask(key, {
      digest: isRoot ? undefined : digest,
      project: named.project,
      stage: named.stage,
      path,
    })
    if (!grant) throw new Error('a question was not answered')
    const tokenId = isRoot ? 'root' : grant.token?.id
    if (tokenId !== undefined) identify(tokenId)
    const caller = token === undefined ? 'nobody' : isRoot ? 'root' : 'token'
    return toAccess(caller, grant, { project, stage, permission, relation }, attachedVersion)
  }
}

/**
 * So many look-ups run side by side where they take long. While jobs keep the processors busy, one takes ten milliseconds, and who has just missed
 * it would wait for twice as long (`npm run bench -- mixed`).
 */
const MOST_RUNNING = 4

/** In milliseconds. */
const MAX_GATHERING_MS = 4

/**
 * While many requests wait for connections, others are gathered before they are let in together: who is let in sooner only waits there, and to
 * let in each by itself takes PostgreSQL longer than to read a row by its key (`npm run bench -- content`).
 */
const gather = (start: () => void): void => onceFewWait(MAX_GATHERING_MS, start)

const NOWHERE = { project: '', stage: '' } as const

interface Question {
  readonly digest: Buffer | undefined
  readonly project: string
  readonly stage: string
  /** `project/stage` */
  readonly path: string
}

async function toAccess(
  caller: 'nobody' | 'root' | 'token',
  grant: Grant,
  asked: Pick<ContentRequest, 'project' | 'stage' | 'permission' | 'relation'>,
  attachedVersion: ReadAttachedVersion,
): Promise<ContentAccess> {
  const rights = rightsOf(caller, grant, asked.project)
  const { project: found, stage: foundStage } = grant
  if (!found) throw notFound('project', asked.project)
  if (!foundStage) throw notFound('stage', asked.stage, `in project "${asked.project}"`)
  if (!rights[asked.permission]) throw permissionMissing(rights.role, asked.project, asked.permission)
  // Each field by itself: this is done for every request, and V8 takes microseconds to add one to what is spread.
  const project = { id: found.id, slug: asked.project, login: found.login, addressOf: found.addressOf }
  const stage = {
    id: foundStage.id,
    slug: asked.stage,
    schemaName: foundStage.schemaName,
    logEvents: foundStage.logEvents,
  }
  if (project.login === null && asked.permission === 'content.write') refuseWrites(project)
  const version = project.login === null ? await attachedVersion({ project, stage }) : grant.version
  // The stage was there when its project was looked up, and is not any more.
  if (!version) throw notFound('stage', asked.stage, `in project "${asked.project}"`)
  return {
    tokenId: caller === 'root' ? 'root' : grant.token?.id,
    project,
    stage,
    role: rights.role,
    rights: `${rights['content.read'] ? 'r' : ''}${rights['content.write'] ? 'w' : ''}`,
    version: versionFor(version, asked.relation),
    isSeen: isSeen(version, asked.relation),
  }
}

/** Whether the caller may read rows: a role that may write them need not have that. */
export const mayRead = ({ rights }: ContentAccess): boolean => rights.includes('r')

/**
 * Makes sure that somebody who was let in to read may write as well.
 *
 * @throws {AppError} FORBIDDEN; ATTACHED_PROJECT where nobody may over HTTP.
 */
export function assertMayWrite({ project, role, rights }: ContentAccess): void {
  if (!rights.includes('w')) throw permissionMissing(role, project.slug, 'content.write')
  if (project.login === null) refuseWrites(project)
}

type Rights = Readonly<Record<ContentPermission, boolean>> & { readonly role: string }

function rightsOf(caller: 'nobody' | 'root' | 'token', { token, role }: Grant, project: string): Rights {
  if (caller === 'root') return { 'content.read': true, 'content.write': true, role: 'root' }
  if (caller === 'token') {
    assertValid(token)
    // A project one is no member of cannot be distinguished from one that does not exist.
    if (!role) throw notFound('project', project)
  }
  if (!role) throw tokenNeeded()
  return { 'content.read': role.read, 'content.write': role.write, role: role.name }
}
