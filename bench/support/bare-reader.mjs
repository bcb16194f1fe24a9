// The least that reads: an Express handler with one route, which runs one prepared statement through pg and sends its body.
import { once } from 'node:events'
import express from 'express'
import pg from 'pg'

process.once('message', async ({ connectionString, searchPath, connections, text, first, filters }) => {
  const pool = new pg.Pool({ connectionString, max: connections, options: `-c search_path=${searchPath}` })
  const app = express()
  for (const setting of ['x-powered-by', 'etag']) app.disable(setting)
  app.get('/content/:project/:stage/:table', async (request, response) => {
    const given = filters.map((name) => request.query[name].slice(request.query[name].indexOf('.') + 1))
    const { rows } = await pool.query({ name: 'page', text, values: [...first, ...given] })
    const [{ body, reference }] = rows
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-service-ref': reference,
    })
    response.end(body)
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ port: server.address().port })
})
