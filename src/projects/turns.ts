import { AppError } from '../errors.ts'

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

interface Waiting {
  readonly projects: readonly string[]
  readonly go: () => void
}

/**
 * Lets each project do only so much of something at once in this process, and leaves some room to others: half of it is
 * for projects that have nothing under way.
 *
 * What has waited the longest goes first, but for what may not go yet.
 */
export function createTurns({ what, perProject, room, waitMs }: TurnsOptions): Turns {
  const taken = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let total = 0

  const isFull = (project: string): boolean => (taken.get(project) ?? 0) >= perProject
  const mayGo = (projects: readonly string[]): boolean =>
    !projects.some(isFull) && total < (projects.some((project) => taken.has(project)) ? room / 2 : room)

  const count = (projects: readonly string[], change: 1 | -1): void => {
    total += change
    for (const project of projects) {
      const now = (taken.get(project) ?? 0) + change
      if (now === 0) taken.delete(project)
      else taken.set(project, now)
    }
  }

  const giveBack = (projects: readonly string[]): void => {
    count(projects, -1)
    for (const next of waiting) {
      if (!mayGo(next.projects)) continue
      count(next.projects, 1)
      next.go()
    }
  }

  /** Settles when the turn has been counted. */
  const wait = (projects: readonly string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const asking: Waiting = {
        projects,
        go() {
          waiting.delete(asking)
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        waiting.delete(asking)
        reject(projects.some((project) => taken.has(project)) ? projectBusy(what) : noRoom(what))
      }, waitMs)
      waiting.add(asking)
    })

  return {
    async take(ids, use) {
      const projects = [...new Set(ids)]
      if (mayGo(projects)) count(projects, 1)
      else await wait(projects)
      try {
        return await use()
      } finally {
        giveBack(projects)
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
