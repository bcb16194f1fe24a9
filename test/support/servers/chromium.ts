import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export interface Browser {
  readonly context: BrowserContext
  readonly close: () => Promise<void>
}

/** Starts the system's Chromium with a new, empty profile. */
export async function startChromium(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'wharf-test-chromium-'))
  const options = { executablePath: '/usr/bin/chromium', headless: true, args: FLAGS, acceptDownloads: true }
  const context = await chromium.launchPersistentContext(profile, options)
  // As long as `expect.poll` looks, at least: the machine may be busy.
  context.setDefaultTimeout(60_000)
  return {
    context,
    async close() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
