/**
 * Does what psql's COPY does, where there is no psql: writes what COPY sends to standard output.
 *
 * Usage: copy-out <statement>, with the connection URL in PGURL
 */
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { to } from 'pg-copy-streams'

const [statement] = process.argv.slice(2)
const connectionString = process.env.PGURL
if (!statement || !connectionString) throw new Error('usage: PGURL=<connection URL> copy-out <statement>')
const client = new pg.Client({ connectionString })
await client.connect()
await pipeline(client.query(to(statement)), process.stdout, { end: false })
await client.end()
