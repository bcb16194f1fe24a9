import type { Client } from './client.ts'
import type { Me, Token } from './types.ts'
import { useLive } from './use-live.ts'

/** What tokens are called, by their ids: the root token may know it of all, any other of itself. */
export function useTokenNames(client: Client, ids: readonly string[]): ReadonlyMap<string, string> {
  const { value } = useLive(
    `names of tokens ${ids.join()}`,
    (signal) => readNames(client, ids, signal),
    () => undefined,
    true,
  )
  return value ?? new Map()
}

async function readNames(
  client: Client,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const me = await client.json<Me>('/me', { signal })
  const tokens = me.root ? await Promise.all(ids.map((id) => client.json<Token>(`/tokens/${id}`, { signal }))) : [me]
  return new Map(tokens.flatMap(({ id, name }) => (id !== null && name !== null ? [[id, name]] : [])))
}
