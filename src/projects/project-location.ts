import { attachedProject, conflict } from '../errors.ts'

/**
 * In which database a project's stages are: Wharf's, which it shares with other projects; one of its own, which Wharf has
 * made for it on the same server; or one that is not Wharf's and was attached.
 */
export type ProjectLocation = 'shared' | 'own' | 'attached'

interface Located {
  readonly slug: string
  readonly location: ProjectLocation
}

/** @throws {AppError} CONFLICT */
export function assertAttached({ slug, location }: Located): void {
  if (location !== 'attached')
    throw conflict(`project "${slug}" is not attached: its stages are in a database of Wharf's`)
}

/** @throws {AppError} CONFLICT */
export function assertNotShared({ slug, location }: Located): void {
  if (location === 'shared')
    throw conflict(`the event log of project "${slug}" is always kept, in the database of all projects`)
}

/**
 * Makes sure that a project's data is Wharf's to change.
 *
 * @param problem why that cannot be done to one that is attached. @param remedy what can be done instead.
 * @throws {AppError} ATTACHED_PROJECT
 */
export function assertNotAttached({ slug, location }: Located, problem: string, remedy: string): void {
  if (location === 'attached') throw attachedProject(slug, problem, remedy)
}
