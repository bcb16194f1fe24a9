import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { startRedis } from '../test/support/servers/redis.ts'
import type { Servers } from './faults.ts'
import type { History } from './history.ts'
import { createPostgres } from './servers/postgres.ts'
import { createWharfProcess, type WharfProcess } from './servers/wharf-process.ts'

/** What runs as the APIs and the workers. */
export interface Program {
  /** The compiled one where it is missing. */
  readonly path?: string
  /** Variables on top of those that it needs anyway. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts two APIs and two workers, with a PostgreSQL and a Redis of their own. @param folder empty; every user may enter it. */
export async function startServers(folder: string, history: History, program: Program = {}): Promise<Servers> {
  const folders = await makeFolders(folder, [
    'postgres',
    'redis',
    'artifacts',
    'api-1',
    'api-2',
    'worker-1',
    'worker-2',
  ])
  const postgres = await createPostgres(folders.postgres ?? folder)
  const redis = await startRedis(folders.redis ?? folder)
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    WHARF_ARTIFACTS: folders.artifacts ?? folder,
    WHARF_SECRET_KEY: 'secret-key-of-the-chaos-with-many-characters',
    ...program.environment,
  }
  const create = (part: 'api' | 'worker', number: number): Promise<WharfProcess> => {
    const name = `${part}-${number}`
    return createWharfProcess({
      name,
      part,
      folder: folders[name] ?? folder,
      environment,
      program: program.path,
      onUnexpectedEnd: (how) => history.violations.push(`${name} ended by itself: ${how}`),
    })
  }
  const first = await create('api', 1)
  const others = [await create('api', 2), await create('worker', 1), await create('worker', 2)]
  for (const process of [first, ...others]) await process.start()
  return { postgres, redis, processes: [first, ...others] }
}

async function makeFolders(folder: string, names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const paths = names.map((name) => [name, join(folder, name)] as const)
  for (const [, path] of paths) {
    await mkdir(path)
    await chmod(path, 0o755)
  }
  return Object.fromEntries(paths)
}

export function apiUrls(processes: Servers['processes']): readonly [string, ...string[]] {
  const [first, ...others] = processes.filter(({ name }) => name.startsWith('api')).map(({ url }) => url)
  if (first === undefined) throw new Error('there is no API')
  return [first, ...others]
}
