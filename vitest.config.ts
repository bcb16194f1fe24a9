import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.ts'
import { NODE_FLAGS } from './test/support/processes/node-flags.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/servers/global-setup.ts'],
    // Where nobody is there to look, what fails is run once more; Vitest says of which tests it was.
    retry: process.env.CI ? 1 : 0,
    // What takes half a minute on a quiet machine takes four times as long where others keep its processors busy.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // What is asked for again and again may take a while on a busy machine.
    expect: { poll: { timeout: 45_000 } },
    // Every file has processes and databases of its own; more files at once than this starve each other.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Files share a process, one after the other: loading all that they import took a sixth of the whole run.
    isolate: false,
    // With a larger new space, a quarter less of the time goes into collecting garbage.
    execArgv: ['--max-semi-space-size=32', ...NODE_FLAGS],
  },
})
