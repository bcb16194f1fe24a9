import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Database } from '../database/database.ts'
import type { Room } from '../database/room.ts'
import { BorrowedBytes } from '../lib/borrowed-bytes.ts'
import type { Seal } from '../lib/seal.ts'
import { packageFile } from '../package-file.ts'
import { applySchema } from './apply-schema.ts'
import { createProject } from './projects.ts'
import { type FindProjectDatabase, toStageDatabase } from './stage-database.ts'
import { DEFAULT_STAGE, findStage } from './stages.ts'

const DEMO_PROJECT = 'demo'

const DEMO_SCRIPT = packageFile('demo/harbour.sql')

/** The file that says that the project was made once, or is not to be made. */
export const demoMarker = (dataDir: string): string => join(dataDir, 'demo-made')

interface DemoServices {
  readonly control: Database
  readonly seal: Seal
  readonly projectDatabase: FindProjectDatabase
  readonly room: Room
}

/**
 * Makes the project that a newcomer sees first. A project of its name that exists is left as it is, except one whose
 * making was interrupted before its tables were there.
 */
export async function ensureDemoProject(
  { control, seal, projectDatabase, room }: DemoServices,
  signal: AbortSignal,
): Promise<void> {
  const recorded = await control.prisma.project.findUnique({ where: { slug: DEMO_PROJECT }, include: { stages: true } })
  // Somebody's, under this name, in another database: its tables are theirs.
  if (recorded && (recorded.login === null || recorded.ownDatabase !== null)) return
  const connectionLimit = await room.limitOfNew()
  const project =
    recorded ??
    (await control.prisma.$transaction((tx) =>
      createProject(tx, seal, { slug: DEMO_PROJECT, stages: [DEFAULT_STAGE], connectionLimit }),
    ))
  const stage = findStage(project, DEFAULT_STAGE)
  const [state] = await control.prisma.$queryRaw<{ empty: boolean }[]>`
    SELECT NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(${stage.schemaName}))) AS empty`
  if (!state?.empty) return
  const script = await readFile(DEMO_SCRIPT)
  const found = await projectDatabase(project, 'imports')
  const change = { read: () => inOnePiece(script), maxBytes: script.length, tokenId: null }
  await applySchema(control, toStageDatabase(found, stage), change, signal)
}

async function* inOnePiece(script: Buffer): AsyncGenerator<BorrowedBytes, void, undefined> {
  yield new BorrowedBytes(script)
}
