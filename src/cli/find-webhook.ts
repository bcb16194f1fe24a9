import { findNamed, isId } from './find-named.ts'
import { encodedPath, type HttpClient } from './http.ts'
import { getAll } from './server-api.ts'
import { shownWebhook } from './webhook-text.ts'

/** The path of a webhook. @param name its name, or its id. @throws {AppError} as `findNamed`. */
export async function webhookPath(http: HttpClient, name: string): Promise<string> {
  const id = isId(name) ? name : findNamed(await getAll(http, '/webhooks', shownWebhook), 'webhook', name).id
  return encodedPath`/webhooks/${id}`
}
