import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { z } from 'zod'
import { ROOT_TOKEN, type TestWharf } from '../service/wharf.ts'

const responseSchema = z.tuple([z.custom<IncomingMessage>()])

/** Asks for an export and gives its answer to be read, or not, at the test's own pace. */
export async function openExport(
  { url }: TestWharf,
  slugs: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage> {
  const asked = request(`${url}/export`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_TOKEN}`, 'content-type': 'application/json', ...headers },
  })
  asked.end(JSON.stringify({ projects: slugs.map((slug) => ({ slug })) }))
  const [response] = responseSchema.parse(await once(asked, 'response'))
  return response
}

/** Reads until at least `bytes` have come, and leaves the rest where it is. */
export async function readSome(response: IncomingMessage, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let got = 0; got < bytes; ) {
    const chunk: Buffer | null = response.read()
    if (chunk) {
      chunks.push(chunk)
      got += chunk.length
    } else {
      await once(response, 'readable')
    }
  }
  return Buffer.concat(chunks)
}

/** Reads to the end; rejects where the transfer breaks. */
export async function readRest(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks)
}
