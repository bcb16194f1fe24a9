import { spawnSync } from 'node:child_process'

/** Whether this machine has a program. */
export const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0
