import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically } from '../lib/atomic-file.ts'
import { parseJson } from '../lib/parse-json.ts'
import { readFileIfThere } from '../lib/read-file-if-there.ts'

const FILE_NAME = 'service.json'

const serviceAddressSchema = z.object({
  url: z.url(),
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
})

/** Where the service of a data folder listens, for the command line on the same machine. */
export type ServiceAddress = Readonly<z.infer<typeof serviceAddressSchema>>

/** Tells where this service listens, to whoever looks into the data folder. */
export async function writeServiceAddress(dataDir: string, address: ServiceAddress): Promise<void> {
  await writeFileAtomically(join(dataDir, FILE_NAME), `${JSON.stringify(address, null, 2)}\n`, 0o600)
}

/**
 * @returns the address of the service that started last; undefined where there is none, or nothing usable. A service
 * that was killed leaves its address behind, so the caller has to see whether it answers.
 */
export async function readServiceAddress(dataDir: string): Promise<ServiceAddress | undefined> {
  const text = await readFileIfThere(join(dataDir, FILE_NAME))
  return text === undefined ? undefined : serviceAddressSchema.safeParse(parseJson(text)).data
}

/** Removes the address; does nothing where there is none. */
export async function removeServiceAddress(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE_NAME), { force: true })
}
