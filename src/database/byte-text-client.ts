import type { EventEmitter } from 'node:events'
import type { Readable } from 'node:stream'
import pg from 'pg'
import { type BackendMessage, RowDescriptionMessage } from 'pg-protocol/dist/messages.js'
import { Parser } from 'pg-protocol/dist/parser.js'

/** The text of a result that has a column of this name is given as `ByteText`, and not decoded. */
export const BYTE_TEXT_COLUMN = 'wharf_byte_text'

/**
 * A client that gives results with a column of the name `BYTE_TEXT_COLUMN` as bytes; all else is as with any other.
 *
 * `pg` decodes whatever PostgreSQL sends, and has no setting for it. What does so is one method of its parser's
 * reader, of which the client's parser gets another for the rows of such a result.
 */
export class ByteTextClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    const connection: EventEmitter = Reflect.get(this, 'connection')
    Reflect.set(connection, 'attachListeners', (stream: Readable) => attachParser(connection, stream))
  }
}

/**
 * What is used of pg-protocol's `BufferReader`. Values of rows are read by `string`, errors and names by another
 * method.
 */
interface ValueReader {
  readonly buffer: Buffer
  offset: number
  string(length: number): string
}

/** Does what `pg`'s own does, and watches which rows come. */
function attachParser(connection: EventEmitter, stream: Readable): void {
  const parser = new Parser()
  const reader: ValueReader = Reflect.get(parser, 'reader')
  const decoded = reader.string
  const take = (message: BackendMessage): void => {
    if (message instanceof RowDescriptionMessage) {
      const isByteText = message.fields.some(({ name }) => name === BYTE_TEXT_COLUMN)
      reader.string = isByteText ? undecoded : decoded
    }
    connection.emit('message', message)
    connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message)
  }
  stream.on('data', (chunk: Buffer) => parser.parse(chunk, take))
}

function undecoded(this: ValueReader, length: number): string {
  const text = this.buffer.toString('latin1', this.offset, this.offset + length)
  this.offset += length
  return text
}
