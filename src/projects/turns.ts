import { AppError } from '../errors.ts'
import { createTurnLine } from '../lib/turn-line.ts'

export interface Turns {
  /**
   * Runs `use` when there is a turn for it, and gives the turn back when it has ended.
   *
   * @param projects ids of all that it is for.
   * @throws {AppError} PROJECT_BUSY where one of them has too many under way for too long; DATABASE_UNAVAILABLE where all
   *   projects together have. Whatever `use` throws.
   */
  take<T>(projects: readonly string[], use: () => Promise<T>): Promise<T>
}

export interface TurnsOptions {
  /** What they are called, e.g. `exports`. */
  readonly what: string
  /** How many one project may have under way at once. */
  readonly perProject: number
  /** How many all projects together may have under way at once. */
  readonly room: number
  /** How long to wait for a turn, in milliseconds. */
  readonly waitMs: number
}

/**
 * Lets each project do only so much of something at once in this process, and leaves some room to others: half of it is
 * for projects that have nothing under way.
 */
export function createTurns({ what, perProject, room, waitMs }: TurnsOptions): Turns {
  const line = createTurnLine({
    mayGo: (projects, taken, total) =>
      projects.every((project) => (taken.get(project) ?? 0) < perProject) &&
      total < (projects.some((project) => taken.has(project)) ? room / 2 : room),
    waitMs,
    failure: (projects, taken) => (projects.some((project) => taken.has(project)) ? projectBusy(what) : noRoom(what)),
  })
  return {
    async take(ids, use) {
      const projects = [...new Set(ids)]
      await line.enter(projects)
      try {
        return await use()
      } finally {
        line.leave(projects)
      }
    },
  }
}

const projectBusy = (what: string): AppError =>
  new AppError('PROJECT_BUSY', `the project has too many ${what} under way already; try again when one has ended`, {
    retryAfterSeconds: 30,
  })

const noRoom = (what: string): AppError =>
  new AppError('DATABASE_UNAVAILABLE', `too many ${what} are running; try again later`, { retryAfterSeconds: 60 })
