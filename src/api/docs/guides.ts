import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const guide = z.object({
  path: z.string(),
  title: z.string(),
  /** False of files that guides lead to. */
  isListed: z.boolean(),
  html: z.string(),
  searched: z.array(z.object({ title: z.string(), kind: z.string(), path: z.string(), text: z.string() })),
})

/** A page of `docs/`, of a text beside it, or of a file that these lead to, as the build has rendered it. */
export type Guide = z.output<typeof guide>

/** @returns no guide where the package was not built, as in a checkout that runs from source. */
export async function readGuides(path: string): Promise<readonly Guide[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]'
    throw error
  })
  return z.array(guide).parse(JSON.parse(text))
}
