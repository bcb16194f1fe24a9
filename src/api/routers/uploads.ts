import { z } from 'zod'
import type { Container } from '../../container.ts'
import { id } from '../../contract/fields.ts'
import { uploadSchema } from '../../contract/upload.ts'
import { AppError } from '../../errors.ts'
import { createUploadReceiver } from '../../jobs/uploads/receive-upload.ts'
import { createUpload, findUpload, removeUpload, UPLOAD_HOURS, type Upload } from '../../jobs/uploads/upload.ts'
import type { Caller } from '../../projects/access.ts'
import { empty, json } from '../answer.ts'
import { streamBody } from '../body.ts'
import { type BoundRoute, routesUnder } from '../route.ts'
import { answerUploadImport } from './answer-import.ts'
import { IMPORT_CALL } from './import-call.ts'

/*
 * Uploads by the tus protocol 1.0.0 (https://tus.io/protocols/resumable-upload), with its extensions creation, expiration
 * and termination, so that its clients can be used as they are.
 */

const route = routesUnder('Uploads')

const TUS_VERSION = '1.0.0'

/** On each answer and refusal, and what `OPTIONS` says of the server. */
const protocol = {
  always: { 'tus-resumable': TUS_VERSION, 'tus-version': TUS_VERSION },
  options: { 'tus-version': TUS_VERSION, 'tus-extension': 'creation,expiration,termination' },
} as const

const tusVersion = z
  .string()
  .optional()
  .meta({ description: `The version of the protocol that the client speaks: \`${TUS_VERSION}\`.` })

/** @throws {AppError} UNSUPPORTED_VERSION */
function assertSpoken({ 'tus-resumable': version = TUS_VERSION }: { readonly 'tus-resumable'?: string | undefined }) {
  if (version === TUS_VERSION) return
  throw new AppError('UNSUPPORTED_VERSION', `Tus-Resumable is ${version}, and must be ${TUS_VERSION}`)
}

const byteCount = z
  .string()
  .regex(/^\d{1,15}$/, { error: 'must be a number of bytes' })
  .transform(Number)

const KEPT_HEADERS = {
  'upload-expires': 'When the upload goes, unless more is sent or it is used before.',
} as const

const STATE_HEADERS = {
  ...KEPT_HEADERS,
  'upload-offset': 'How many bytes are there.',
} as const

const params = z.object({ id })

const create = route('POST /uploads', {
  operationId: 'createUpload',
  protocol,
  summary: 'Begins an upload that survives lost connections',
  description:
    'For an archive that arrives in as many requests as it takes: send its bytes with `PATCH`, ask after a lost ' +
    `connection how many are there, and go on from there. It is kept for ${UPLOAD_HOURS} hours after it was last sent to or used. ` +
    'By the tus protocol 1.0.0 (creation, expiration, termination), so its clients can be used.',
  access: { by: 'somewhere', permission: 'content.import' },
  headers: z.object({
    'upload-length': byteCount
      .refine((length) => length > 0, { error: 'must be 1 or more' })
      .meta({ description: 'How many bytes will come.' }),
    'tus-resumable': tusVersion,
  }),
  answers: {
    201: json(uploadSchema, 'The upload, of which nothing is there yet.', {
      ...KEPT_HEADERS,
      location: 'Path of the upload.',
    }),
  },
  errors: ['CONFLICT', 'UNSUPPORTED_VERSION'],
})

const show = route('GET /uploads/{id}', {
  operationId: 'showUpload',
  protocol,
  summary: 'How many bytes of an upload are there',
  description: 'Ends what a lost connection has left, so that all that has come is counted.',
  access: { by: 'sender' },
  params,
  headers: z.object({ 'tus-resumable': tusVersion }),
  answers: {
    200: json(uploadSchema, 'The upload.', {
      ...STATE_HEADERS,
      'upload-length': 'How many bytes it has once it is whole.',
    }),
  },
  errors: ['UNSUPPORTED_VERSION'],
})

const send = route('PATCH /uploads/{id}', {
  operationId: 'sendUpload',
  protocol,
  summary: 'Sends the next bytes of an upload',
  description: 'What has come is kept, also where the connection is lost in the middle.',
  access: { by: 'sender' },
  params,
  headers: z.object({
    'upload-offset': byteCount.meta({ description: 'Where they begin: as many as are there.' }),
    'tus-resumable': tusVersion,
  }),
  body: streamBody('application/offset+octet-stream', 'The bytes, as many as are at hand.'),
  answers: { 204: empty('They are there.', STATE_HEADERS) },
  errors: ['CONFLICT', 'UNSUPPORTED_VERSION', 'BODY_TOO_LARGE', 'STORAGE_FULL', 'STORAGE_UNAVAILABLE'],
})

const remove = route('DELETE /uploads/{id}', {
  operationId: 'deleteUpload',
  protocol,
  summary: 'Removes an upload',
  access: { by: 'sender' },
  params,
  headers: z.object({ 'tus-resumable': tusVersion }),
  answers: { 204: empty('It is gone.') },
  errors: ['UNSUPPORTED_VERSION'],
})

const importUpload = route('POST /uploads/{id}/import', {
  ...IMPORT_CALL,
  operationId: 'importUpload',
  summary: 'Imports an archive that has been uploaded',
  description:
    'As `POST /import`, with an upload that is whole instead of a body, and with the same permissions. After a dry run it ' +
    'can be imported without being sent again; an import that succeeds, and a job, take it, but for those of one `project`.',
  access: { by: 'sender' },
  params,
  errors: [...IMPORT_CALL.errors, 'FORBIDDEN'],
})

/** `/uploads` */
export function uploadRoutes(container: Container): readonly BoundRoute<Caller>[] {
  const { prisma } = container.control
  const receiver = createUploadReceiver(container)
  /** @throws {AppError} NOT_FOUND where the caller has no such upload. */
  const settled = async (caller: Caller, id: string): Promise<Upload> => {
    await findUpload(prisma, caller, id)
    await receiver.settle(id)
    return findUpload(prisma, caller, id)
  }
  return [
    create.handle<Caller>(async ({ headers, caller }) => {
      assertSpoken(headers)
      const upload = await createUpload(prisma, caller, headers['upload-length'])
      return {
        status: 201,
        headers: { ...keptHeaders(upload), location: `/uploads/${upload.id}` },
        body: toBody(upload),
      }
    }),
    show.handle<Caller>(async ({ params, headers, caller }) => {
      assertSpoken(headers)
      const upload = await settled(caller, params.id)
      return {
        status: 200,
        headers: { ...stateHeaders(upload), 'upload-length': String(upload.length) },
        body: toBody(upload),
      }
    }),
    send.handle<Caller>(async ({ params, headers, body, caller }) => {
      assertSpoken(headers)
      if (body.coding !== 'identity')
        throw new AppError('UNSUPPORTED_MEDIA_TYPE', 'the body must have no Content-Encoding')
      const upload = await settled(caller, params.id)
      await receiver.receive(upload, headers['upload-offset'], body)
      return { status: 204, headers: stateHeaders(await findUpload(prisma, caller, upload.id)) }
    }),
    remove.handle<Caller>(async ({ params, headers, caller }) => {
      assertSpoken(headers)
      const upload = await settled(caller, params.id)
      await removeUpload(prisma, upload.id)
      return { status: 204 }
    }),
    importUpload.handle<Caller>(({ params, ...call }) => answerUploadImport(container, params.id, call)),
  ]
}

const keptHeaders = ({ expiresAt }: Upload) => ({ 'upload-expires': expiresAt.toUTCString() })

const stateHeaders = (upload: Upload) => ({ ...keptHeaders(upload), 'upload-offset': String(upload.offset) })

const toBody = ({ id, length, offset, expiresAt }: Upload) => ({
  id,
  length,
  offset,
  expiresAt: expiresAt.toISOString(),
})
