import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { pageOf } from '../contract/page.ts'
import { refusesField } from '../contract/problem.ts'
import { isAppError } from '../errors.ts'
import { type HttpClient, jsonBody } from './http.ts'

const PAGE_ITEMS = '200'

/** Reads what is at the path. @throws {AppError} as the server refuses; so do all calls here. */
export const get = <S extends z.ZodType>(http: HttpClient, path: string, schema: S): Promise<FromServer<z.output<S>>> =>
  http.json({ method: 'GET', path }, schema)

/** Sends a JSON body; fields that are undefined are left out. */
export const send = <S extends z.ZodType>(
  http: HttpClient,
  call: { readonly method: 'POST' | 'PUT' | 'PATCH'; readonly path: string; readonly body: object },
  schema: S,
): Promise<FromServer<z.output<S>>> => http.json({ ...call, ...jsonBody(call.body) }, schema)

/**
 * Makes a call that says that rows may be missing, where that was asked for. A server of an earlier version doesn't know
 * the field, and refuses nothing for missing rows: it is called again without.
 */
export async function withAllowance<T>(
  request: object,
  allowIncomplete: boolean,
  call: (request: object) => Promise<T>,
): Promise<T> {
  if (!allowIncomplete) return call(request)
  try {
    return await call({ ...request, allowIncomplete })
  } catch (error) {
    if (isAppError(error) && refusesField(error.faults, 'allowIncomplete')) return call(request)
    throw error
  }
}

/** Reads a list that the server gives whole, as it does where one project has all of it. */
export const getAll = async <S extends z.ZodType>(
  http: HttpClient,
  path: string,
  item: S,
): Promise<readonly FromServer<z.output<S>>[]> => (await get(http, path, pageOf(item))).items

/** Reads a list to its end, page after page. */
export async function listAll<S extends z.ZodType>(
  http: HttpClient,
  list: {
    readonly path: string
    readonly item: S
    readonly query?: Readonly<Record<string, string | undefined>>
  },
): Promise<readonly FromServer<z.output<S>>[]> {
  const pageSchema = pageOf(list.item)
  const items: FromServer<z.output<S>>[] = []
  let after: string | undefined
  do {
    const query = { ...list.query, limit: PAGE_ITEMS, after }
    const page = await http.json({ method: 'GET', path: list.path, query }, pageSchema)
    items.push(...page.items)
    after = page.next ?? undefined
  } while (after !== undefined)
  return items
}

/** Deletes what is at the path. */
export async function remove(http: HttpClient, path: string): Promise<void> {
  const { body } = await http.open({ method: 'DELETE', path })
  for await (const _ of body);
}
