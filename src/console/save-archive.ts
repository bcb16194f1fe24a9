import type { Client } from './client.ts'
import type { Job } from './types.ts'
import { projectsOf } from './words.tsx'

/** How long the browser has to begin writing the file. */
const HELD_MS = 60_000

/** Downloads the archive of a job. A link could not: it would have to carry the token in its address. */
export async function saveArchive(client: Client, job: Job): Promise<void> {
  const archive = await client.blob(`/jobs/${job.id}/file`)
  const url = URL.createObjectURL(archive)
  const link = document.createElement('a')
  link.href = url
  const ending = archive.type.includes('zstd') ? 'zst' : 'gz'
  link.download = `${projectsOf(job.request).join('-') || job.id}.jsonl.${ending}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), HELD_MS)
}
