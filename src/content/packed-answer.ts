import { hash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../lib/parse-json.ts'
import type { ContentAnswer } from './answer.ts'

/**
 * An answer as bytes: the checksum of all that follows, a line of JSON that describes the body, and the body.
 *
 * @param key under which it is kept; it is part of the checksum, so that an answer that got under another is not believed.
 */
export function packAnswer(key: string, { body, ...answer }: ContentAnswer): Buffer {
  const described = Buffer.from(`${JSON.stringify({ ...answer, length: body.byteLength })}\n`)
  const content = Buffer.concat([described, body])
  return Buffer.concat([checksum(key, content), content])
}

const descriptionSchema = z.strictObject({
  status: z.union([z.literal(200), z.literal(206)]),
  reference: z.guid(),
  contentType: z.string(),
  contentRange: z.string().optional(),
  coding: z.enum(['identity', 'gzip']),
  length: z.int(),
})

/** @returns undefined where the bytes are not an answer that was kept whole under this key. */
export function unpackAnswer(key: string, packed: Buffer): ContentAnswer | undefined {
  const content = packed.subarray(CHECKSUM_BYTES)
  if (!checksum(key, content).equals(packed.subarray(0, CHECKSUM_BYTES))) return undefined
  const end = content.indexOf('\n')
  const description = descriptionSchema.safeParse(parseJson(content.toString('utf8', 0, end)))
  if (!description.success) return undefined
  const { length, contentRange, ...rest } = description.data
  const body = content.subarray(end + 1)
  return body.length === length ? { ...rest, contentRange, body } : undefined
}

const CHECKSUM_BYTES = 32

const checksum = (key: string, content: Buffer): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${key}\n`), content]), 'buffer')
