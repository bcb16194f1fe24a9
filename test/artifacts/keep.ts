import { randomUUID } from 'node:crypto'
import type { ArtifactStore } from '../../src/artifacts/artifact-store.ts'

/** Puts an artifact into a store. @returns its key. */
export async function keep(
  store: ArtifactStore,
  content: Uint8Array | readonly Uint8Array[],
  key: string = randomUUID(),
): Promise<string> {
  const writer = await store.create(key)
  for (const chunk of content instanceof Uint8Array ? [content] : content) await writer.write(chunk)
  await writer.commit()
  return key
}
