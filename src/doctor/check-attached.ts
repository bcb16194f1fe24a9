import type { AllowedHosts } from '../allowed-hosts.ts'
import type { Database } from '../database/database.ts'
import { openSession } from '../database/session-client.ts'
import { type Seal, SealBroken } from '../lib/seal.ts'
import { formatCounted } from '../lib/units.ts'
import type { Logger } from '../logger.ts'
import { connectionOf } from '../projects/attached/attached-connection.ts'
import { attachedFailure } from '../projects/attached/attached-failure.ts'
import { readAttachment } from '../projects/attached/attachment.ts'
import { type Checked, fault, ok, sentenceOf, skipped } from './check.ts'

const CONNECT_MS = 5_000

/** How many databases are tried. */
const MAX_TRIED = 20

/** Whether the databases of attached projects can be reached, by those addresses that exports of them use. */
export async function checkAttached(
  { prisma }: Pick<Database, 'prisma'>,
  seal: Seal | undefined,
  { allowedHosts, logger }: { readonly allowedHosts: AllowedHosts; readonly logger: Logger },
): Promise<Omit<Checked, 'name'>> {
  const projects = await prisma.project.findMany({
    where: { attachment: { isNot: null }, unfinished: false },
    orderBy: { slug: 'asc' },
    select: { id: true, slug: true },
  })
  if (projects.length === 0) return skipped('no project is attached')
  if (!seal) return skipped('their addresses cannot be read without the secret key')
  const reach = async (project: (typeof projects)[number]): Promise<string | undefined> => {
    const attachment = await readAttachment(prisma, seal, project)
    try {
      const connection = await connectionOf(attachment, allowedHosts)
      const session = { kind: 'bare', applicationName: 'wharf doctor', connectTimeoutMs: CONNECT_MS } as const
      await (await openSession(connection, { ...session, logger })).end()
      return undefined
    } catch (error) {
      return `${project.slug} (${sentenceOf(attachedFailure(attachment.name, error))})`
    }
  }
  try {
    const problems = (await Promise.all(projects.slice(0, MAX_TRIED).map(reach))).filter((each) => each !== undefined)
    if (problems.length === 0)
      return ok(`${formatCounted(projects.length, 'project')}, ${Math.min(projects.length, MAX_TRIED)} tried`)
    return fault(
      `databases cannot be reached: ${problems.join(', ')}. See that they run and let Wharf in, or give their new address ` +
        '(project:attach --change)',
    )
  } catch (error) {
    // The secret key has a check of its own.
    if (error instanceof SealBroken) return skipped('their addresses cannot be read without the secret key')
    throw error
  }
}
