import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from './actors/actor.ts'
import { churnProjects } from './actors/churner.ts'
import { exportProject } from './actors/exporter.ts'
import { importArchives, undoImports } from './actors/importer.ts'
import { readConditionally, readKeptRows } from './actors/reader.ts'
import { transferProject } from './actors/transferer.ts'
import { writeRows } from './actors/writer.ts'
import { readRows } from './checks/projects.ts'
import { ACCOUNTS, type Archive, FLEETING, MIRROR, SWAPPED } from './projects.ts'

/** Lets all clients begin. @returns their ends, by name. */
export function startActors(
  actorOf: (name: string) => Actor,
  superuserUrl: string,
  archives: readonly Archive[],
): ReadonlyMap<string, Promise<void>> {
  const accounts = { project: ACCOUNTS, table: 'item' }
  const swapped = { project: SWAPPED, table: 'item' }
  const fleeting = { project: FLEETING, table: 'item' }
  const readMirror = () => readRows(superuserUrl, MIRROR).catch(() => undefined)
  const acts: Readonly<Record<string, (actor: Actor) => Promise<void>>> = {
    'writer 1': (actor) => writeRows(actor, { ...accounts, name: 'w1', pauseMs: 40 }),
    'writer 2': (actor) => writeRows(actor, { ...accounts, name: 'w2', pauseMs: 40 }),
    'writer 3': (actor) => writeRows(actor, { ...accounts, name: 'w3', pauseMs: 40 }),
    'writer beside imports 1': (actor) => writeRows(actor, { ...swapped, name: 's1', pauseMs: 80 }),
    'writer beside imports 2': (actor) => writeRows(actor, { ...swapped, name: 's2', pauseMs: 80 }),
    'reader 1': (actor) => readConditionally(actor, { ...accounts, pauseMs: 30 }),
    'reader 2': (actor) => readConditionally(actor, { ...accounts, pauseMs: 30 }),
    'reader beside imports': (actor) => readConditionally(actor, { ...swapped, pauseMs: 30 }),
    'writer of fleeting rows': (actor) => writeRows(actor, { ...fleeting, name: 'f1', pauseMs: 1_200 }),
    'reader of fleeting rows': (actor) => readKeptRows(actor, { ...fleeting, pauseMs: 60 }),
    importer: (actor) => importArchives(actor, { project: SWAPPED, archives: archives.map(({ bytes }) => bytes) }),
    undoer: (actor) => undoImports(actor, { project: SWAPPED }),
    exporter: (actor) => exportProject(actor, { project: ACCOUNTS }),
    transferer: (actor) => transferProject(actor, { from: ACCOUNTS, to: MIRROR, readRows: readMirror }),
    churner: (actor) => churnProjects(actor, { name: 'passing' }),
  }
  return new Map(Object.entries(acts).map(([name, perform]) => [name, perform(actorOf(name))]))
}

/** Waits for clients to end what they have begun. @returns what they did not. */
export async function unfinished(
  acting: ReadonlyMap<string, Promise<void>>,
  limitMs: number,
): Promise<readonly string[]> {
  const timer = new AbortController()
  const isTimeOver = sleep(limitMs, true, { signal: timer.signal }).catch(() => false)
  const ends = [...acting].map(async ([name, act]) => {
    const outcome = act.then(
      () => [],
      (error: unknown) => [`the ${name} failed: ${error}`],
    )
    const late = isTimeOver.then(() => [`the ${name} waits without end for what it asked for`])
    return Promise.race([outcome, late])
  })
  const found = (await Promise.all(ends)).flat()
  timer.abort()
  return found
}
