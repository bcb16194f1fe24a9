import type pg from 'pg'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { askExport, jobOf, showJob, untilEnded } from '../support/jobs/jobs.ts'
import { describeOnOwnEmbedded } from '../support/servers/each-server.ts'
import { openSession } from '../support/servers/sessions.ts'
import { createProject, loginUrl } from '../support/service/projects.ts'
import { startWharf } from '../support/service/wharf.ts'

/*
 * Projects that together hold every connection that is not reserved for Wharf.
 */

const PROJECTS = ['first', 'second', 'third', 'fourth', 'fifth']

describeOnOwnEmbedded((wharf) => {
  const sessions: pg.Client[] = []

  beforeAll(async () => {
    for (const slug of PROJECTS) await createProject(wharf(), slug, 'CREATE TABLE item (id int PRIMARY KEY)')
  })

  async function letGo(): Promise<void> {
    for (const session of sessions.splice(0)) await session.end()
  }

  afterEach(letGo)

  async function open(href: string): Promise<boolean> {
    try {
      sessions.push(await openSession(href))
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: '53300' })
      return false
    }
  }

  /** Opens sessions of all projects in turn, until none gets another. */
  async function takeAll(): Promise<void> {
    const urls = await Promise.all(PROJECTS.map((slug) => loginUrl(wharf(), slug)))
    for (;;) {
      const opened: boolean[] = []
      for (const { href } of urls) opened.push(await open(href))
      if (!opened.includes(true)) return
    }
  }

  test("make another project's backup fail", async () => {
    await createProject(wharf(), 'modest', 'CREATE TABLE item (id int PRIMARY KEY)')
    const job = jobOf(await askExport(wharf().root, [{ slug: 'modest' }]))
    await takeAll()
    const worker = await startWharf({ beside: wharf(), worker: true })
    await eventually(async () => (await showJob(wharf().root, job.id)).attempt).toBeGreaterThanOrEqual(5)
    await letGo()
    expect(await untilEnded(wharf().root, job)).toMatchObject({ status: 'succeeded' })
    await worker.close()
  })

  test('keep another process of Wharf from starting', async () => {
    await takeAll()
    const another = await startWharf({ beside: wharf() })
    expect((await another.root.get('/projects')).status).toBe(200)
    await another.close()
  })
})
