#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { hideArguments } from './cli/hide-arguments.ts'
import { readNpmOptions } from './cli/npm-options.ts'
import { runCli } from './cli/program.ts'
import type { Config } from './config.ts'
import { readVersion } from './version.ts'

hideArguments(process, process.argv)

const ENVIRONMENT_FILE = '.env'
const hasEnvironmentFile = existsSync(ENVIRONMENT_FILE)

// Whatever costs time to load is loaded by the command that needs it: `wharf --help` answers at once.
async function loadEnvironment(): Promise<Config> {
  const { loadConfig } = await import('./config.ts')
  return loadConfig(process.env)
}

process.exitCode = await runCli(process.argv.slice(2), {
  loadConfig: loadEnvironment,
  async loadServiceConfig() {
    // Nobody runs a service in a folder whose files are not their own; other commands are run anywhere.
    if (hasEnvironmentFile) process.loadEnvFile(ENVIRONMENT_FILE)
    return loadEnvironment()
  },
  hasEnvironmentFile,
  async startService(config) {
    const { prepareRuntime } = await import('./lib/runtime.ts')
    prepareRuntime(config.runtimeOff)
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
  async readAddressEnvironment() {
    const { readAddressEnvironment } = await import('./database/address/environment.ts')
    return readAddressEnvironment(process.env, (message) => process.stderr.write(`note: ${message}\n`))
  },
  npmOptions: readNpmOptions(process.env),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  version: readVersion(),
})
