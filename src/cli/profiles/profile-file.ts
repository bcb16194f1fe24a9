import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { wrongUse } from '../../errors.ts'
import { writeFileAtomically } from '../../lib/atomic-file.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { SLUG_PATTERN } from '../../lib/slug.ts'
import { unlessMissing } from '../../lib/unless-missing.ts'

/** DSNs by the names of profiles. */
export type Profiles = Readonly<Record<string, string>>

const profilesSchema = z.record(z.string().regex(SLUG_PATTERN), z.string())

const MODE = 0o600
const OF_OTHERS = 0o077

/**
 * Reads the profiles of a file; none where it is missing.
 *
 * @throws {AppError} WRONG_USE where others may read it, since it has tokens, or where it is no file of profiles.
 */
export async function readProfiles(path: string): Promise<Profiles> {
  const file = await unlessMissing(open(path, constants.O_RDONLY))
  if (!file) return {}
  try {
    const { mode } = await file.stat()
    if (process.platform !== 'win32' && (mode & OF_OTHERS) !== 0)
      throw wrongUse(`others can read the profiles in ${path}, which have tokens: run chmod 600 on it`)
    const parsed = profilesSchema.safeParse(parseJson(await file.readFile('utf8')))
    if (!parsed.success) throw wrongUse(`${path} is no file of profiles: make it anew with profile:add`)
    return parsed.data
  } finally {
    await file.close()
  }
}

/** Writes all profiles, for their owner alone. */
export async function writeProfiles(path: string, profiles: Profiles): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFileAtomically(path, `${JSON.stringify(profiles, undefined, 2)}\n`, MODE)
}
