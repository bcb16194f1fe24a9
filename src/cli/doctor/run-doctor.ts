import type { Checked } from '../../doctor/check.ts'
import { runChecks } from '../../doctor/run-checks.ts'
import { formatCounted } from '../../lib/units.ts'
import type { CommandContext } from '../environment.ts'
import { EXIT } from '../exit-codes.ts'
import { printResult, type ResultOptions } from '../terminal/result.ts'
import { formatTable } from '../terminal/table.ts'

/**
 * `doctor`: looks at all that a service with this configuration needs, and changes nothing.
 *
 * @returns 0 where nothing is wrong, warnings aside; else 1.
 */
export async function runDoctor({ environment }: CommandContext, options: ResultOptions): Promise<number> {
  const config = await environment.loadServiceConfig()
  const environmentFile = environment.hasEnvironmentFile ? '.env' : undefined
  const checks = await runChecks(config, { version: environment.version, environmentFile })
  const faults = checks.filter(({ status }) => status === 'fault').length
  const warnings = checks.filter(({ status }) => status === 'warning').length
  const verdict = `${formatCounted(faults, 'fault')}, ${formatCounted(warnings, 'warning')} in ${formatCounted(checks.length, 'check')}`
  await printResult({ environment }, options, {
    json: { ok: faults === 0, checks },
    text: (style) => `${formatTable(HEADINGS, checks.map(toCells), style)}\n\n${verdict}`,
  })
  return faults === 0 ? EXIT.done : EXIT.failed
}

const HEADINGS = ['status', 'check', 'found']

const toCells = ({ status, name, detail }: Checked): readonly string[] => [status, name, detail]
