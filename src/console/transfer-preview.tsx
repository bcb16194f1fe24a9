import { type Client, RequestError } from './client.ts'
import { ComparedTables, type RowCount } from './compared-tables.tsx'
import type { Overview, Project } from './types.ts'
import { useLive } from './use-live.ts'

interface PreviewProps {
  readonly client: Client
  readonly source: Project
  readonly target: Project
}

/** What a transfer would replace, by each stage of its source: how many rows its tables have, and would have. */
export const TransferPreview = ({ client, source, target }: PreviewProps) => (
  <>
    {source.stages.map(({ slug }) =>
      target.stages.some((stage) => stage.slug === slug) ? (
        <Replaced key={slug} client={client} source={source.slug} target={target.slug} stage={slug} />
      ) : (
        <p key={slug} class="failure">
          {target.slug} has no stage {slug}: make it first, or the transfer fails, and nothing is changed.
        </p>
      ),
    )}
  </>
)

interface ReplacedProps {
  readonly client: Client
  readonly source: string
  readonly target: string
  readonly stage: string
}

function Replaced({ client, source, target, stage }: ReplacedProps) {
  const { value } = useLive(
    `replaced ${source} ${target} ${stage}`,
    async (signal) => {
      const [after, now] = await Promise.all(
        [source, target].map((slug) => tablesOf(client, `${slug}/${stage}`, signal)),
      )
      return after && now && { after, now }
    },
    () => undefined,
  )
  if (!value) return null
  const { after, now } = value
  const names = [...new Set([...after.keys(), ...now.keys()])]
  return (
    <section aria-label={`What changes in ${stage}`}>
      <h2>Stage {stage}</h2>
      <ComparedTables
        label={`Tables of ${stage}`}
        tables={names.map((name) => ({ name, before: now.get(name), after: after.get(name) }))}
        titles={['Rows now', 'Rows afterwards']}
      />
    </section>
  )
}

/** The tables of a stage with their rows; undefined where the token may not read it. */
async function tablesOf(
  client: Client,
  path: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RowCount> | undefined> {
  const overview = await client.json<Overview>(`/content/${path}`, { signal }).catch((error: unknown) => {
    if (error instanceof RequestError && error.status === 403) return undefined
    throw error
  })
  return (
    overview && new Map(overview.tables.filter(({ kind }) => kind === 'table').map(({ name, rows }) => [name, rows]))
  )
}
