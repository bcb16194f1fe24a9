import { join } from 'node:path'
import { wrongUse } from '../../errors.ts'
import { readFileIfThere } from '../../lib/read-file-if-there.ts'
import { type AddressEnvironment, usualFile } from './environment.ts'
import { isParameter, type Parameters } from './parameters.ts'

/**
 * Looks a service up: in the file that is named, or else in `~/.pg_service.conf`, and then in that of the system.
 *
 * @param file the one that `servicefile` or `PGSERVICEFILE` names.
 * @throws {AppError} WRONG_USE where there is no such service, or its file is not understood.
 * @see https://www.postgresql.org/docs/current/libpq-pgservice.html
 */
export async function readService(
  service: string,
  file: string | undefined,
  environment: AddressEnvironment,
): Promise<Parameters> {
  const { PGSYSCONFDIR: folder } = environment.variables
  const paths = [file ?? usualFile(environment, 'servicefile'), folder && join(folder, 'pg_service.conf')]
  for (const path of paths) {
    const text = path && (await readFileIfThere(path))
    const found = text ? findService(text, service) : undefined
    if (found) return found
  }
  throw wrongUse('the service that the address or PGSERVICE names is defined in no service file')
}

/** What the first group of this name says. @throws {AppError} WRONG_USE, with the line that is not understood. */
export function findService(text: string, service: string): Parameters | undefined {
  let isWithin = false
  let found: Record<string, string> | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    if (trimmed.startsWith('[')) {
      if (found) return found
      isWithin = trimmed.startsWith(`[${service}]`)
      if (isWithin) found = {}
      continue
    }
    if (!isWithin || !found) continue
    const [name = '', ...value] = trimmed.split('=')
    if (value.length === 0 || !isParameter(name) || name === 'service' || name === 'servicefile') {
      throw wrongUse(`line ${index + 1} of the service file is not understood: expected <parameter>=<value>, as libpq`)
    }
    // The first one counts.
    found[name] ??= value.join('=')
  }
  return found
}
