import type { ExportSelection, PatternSelection } from '../contract/export.ts'
import type { Queryable } from '../database/database.ts'
import { AppError } from '../errors.ts'
import { matchesPattern } from '../lib/wildcards.ts'
import type { Caller } from '../projects/access.ts'
import { allows } from '../projects/permissions.ts'
import { listProjects, type Project } from '../projects/projects.ts'

/** A project that a pattern stands for, and what an export takes of it. */
export interface MatchingProject {
  readonly project: Project
  readonly pattern: string
  readonly selection: ExportSelection
}

/**
 * The projects that patterns stand for and that the caller may export, by slug. What several stand for is selected as the
 * first of them says.
 *
 * @throws {AppError} NOT_FOUND where a pattern stands for none.
 */
export async function findMatching(
  control: Queryable,
  caller: Caller,
  patterns: readonly PatternSelection[],
): Promise<readonly MatchingProject[]> {
  const matched: MatchingProject[] = []
  const used = new Set<string>()
  for (const project of await listProjects(control, { limit: MAX_PROJECTS, ...visibleTo(caller) })) {
    const fitting = patterns.filter(
      (each) => matchesPattern(each.pattern, project.slug) && mayExport(caller, project, each),
    )
    for (const { pattern } of fitting) used.add(pattern)
    const [first] = fitting
    if (!first) continue
    const { pattern, ...parts } = first
    matched.push({ project, pattern, selection: { slug: project.slug, ...parts } })
  }
  const unused = patterns.find(({ pattern }) => !used.has(pattern))
  if (unused) throw noMatch(unused.pattern)
  return matched
}

/** More than any service has. */
const MAX_PROJECTS = 1_000_000

const visibleTo = (caller: Caller) => (caller.kind === 'root' ? {} : { slugs: [...caller.roles.keys()] })

/** Whether what a pattern selects of a project is for the caller to export. */
export function mayExport(caller: Caller, { slug }: Pick<Project, 'slug'>, { system }: PatternSelection): boolean {
  if (caller.kind === 'root') return true
  const role = caller.roles.get(slug)
  return role !== undefined && allows(role, 'content.export') && (!system || allows(role, 'system.export'))
}

/** @param problem why those that there were do not count. */
export const noMatch = (pattern: string, problem = ''): AppError =>
  new AppError('NOT_FOUND', `the pattern "${pattern}" stands for no project that may be exported${problem}`)

/** Whether projects whose slugs begin with a prefix could match a pattern. */
export function couldMatch(pattern: string, prefix: string): boolean {
  const head = pattern.slice(0, pattern.search(/[*?]/))
  return head.startsWith(prefix) || prefix.startsWith(head)
}
