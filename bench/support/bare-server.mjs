// The least that answers: an Express handler with one route, which sends the head and the bytes that it was given.
import { once } from 'node:events'
import express from 'express'

process.once('message', async ({ status, headers, body }) => {
  const app = express()
  for (const setting of ['x-powered-by', 'etag']) app.disable(setting)
  const bytes = Buffer.from(body, 'base64')
  app.get('/content/:project/:stage/:table', (_request, response) => {
    response.writeHead(status, headers)
    response.end(bytes.length > 0 ? bytes : undefined)
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.({ port: server.address().port })
})
