#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { readNpmOptions } from './cli/npm-options.ts'
import { runCli } from './cli/program.ts'
import { readVersion } from './version.ts'

// Prisma's query compiler is WebAssembly: to optimise it takes 50 MB of memory, for queries that take longer than their
// compiling anyway (`npm run bench -- memory`).
setFlagsFromString('--liftoff-only')

// Whatever costs time to load is loaded by the command that needs it: `wharf --help` answers at once.
if (existsSync('.env')) process.loadEnvFile('.env')

process.exitCode = await runCli(process.argv.slice(2), {
  async loadConfig() {
    const { loadConfig } = await import('./config.ts')
    return loadConfig(process.env)
  },
  async startService(config) {
    const { startService } = await import('./service.ts')
    const { createLogger } = await import('./logger.ts')
    const { url, ...service } = await startService({ config, logger: createLogger('error'), shared: false })
    if (url === undefined) throw new Error('the service has no HTTP interface')
    return { ...service, url }
  },
  async runService(config, part) {
    const { runService } = await import('./run-service.ts')
    return runService(config, part && [part])
  },
  npmOptions: readNpmOptions(process.env),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  version: readVersion(),
})
