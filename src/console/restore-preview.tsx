import { useState } from 'preact/hooks'
import { type Client, RequestError } from './client.ts'
import { asCompared, ComparedTables } from './compared-tables.tsx'
import { Failure } from './failure.tsx'
import type { ArchiveProject } from './restore.tsx'
import { shown } from './shown.ts'
import { isTyped, SubmitButton } from './submit-button.tsx'
import type { Examined, ExaminedStage, Job } from './types.ts'
import { useAction } from './use-action.ts'
import { useLive } from './use-live.ts'
import { toCounted } from './words.tsx'

interface Target {
  readonly slug: string
  /** Whether it is made for that. */
  readonly isNew: boolean
  /** A project that there is, and has the stages that a new one gets; undefined for none. */
  readonly like: string | undefined
}

interface PreviewProps {
  readonly client: Client
  readonly archive: ArchiveProject
  readonly target: Target
}

/** What came of a look: what would change, or why nothing can. */
type Looked = { readonly examined: Examined } | { readonly refused: RequestError }

const queryOf = (values: Readonly<Record<string, string | boolean | undefined>>): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, String(value))
  return query.toString()
}

/** What an import would change, table by table, and the question whether it shall. */
export function RestorePreview({ client, archive, target }: PreviewProps) {
  const [allowIncomplete, setAllowed] = useState(false)
  // A new project is looked at by way of the one that it is to be like: nothing is there yet.
  const looksAt = target.isNew ? target.like : target.slug
  const { value, failure } = useLive<Looked | undefined>(
    `preview ${archive.path} ${looksAt} ${allowIncomplete}`,
    async (signal) => {
      if (looksAt === undefined) return undefined
      const query = queryOf({ project: archive.project, targetSlug: looksAt, dryRun: true, allowIncomplete })
      const asked = client.json<Examined>(`${archive.path}?${query}`, { method: 'POST', signal })
      return asked.then(
        (examined) => ({ examined }),
        (error: unknown) => {
          if (error instanceof RequestError && error.status >= 400 && error.status < 500) return { refused: error }
          throw error
        },
      )
    },
    () => undefined,
  )
  const examined = value && 'examined' in value ? value.examined : undefined
  const refused = value && 'refused' in value ? value.refused : undefined
  const isIncomplete = refused?.code === 'incomplete'
  const faults = refused?.faults.filter((fault) => !saysTheSame(fault, refused.message)) ?? []
  return (
    <>
      {!value && !failure && looksAt !== undefined && <p role="status">Looking at what would change …</p>}
      <Failure text={failure ?? refused?.message} />
      {refused && !isIncomplete && (
        <p>{refused.code === 'archive-invalid' && 'It is no archive that Wharf can restore. '}Nothing was changed.</p>
      )}
      {faults.length > 0 && (
        <ul>
          {faults.map((fault) => (
            <li key={fault}>{shown(fault)}</li>
          ))}
        </ul>
      )}
      {(isIncomplete || allowIncomplete) && (
        <p>
          <label>
            <input
              type="checkbox"
              checked={allowIncomplete}
              onChange={(event) => setAllowed(event.currentTarget.checked)}
            />
            Restore what there is, without these rows
          </label>
        </p>
      )}
      {examined && !target.isNew && <Changes examined={examined} earlier={archive.earlier} />}
      {(examined || looksAt === undefined) && (
        <Confirmation
          client={client}
          archive={archive}
          target={target}
          stages={stagesOf(examined)}
          allowIncomplete={allowIncomplete}
        />
      )}
    </>
  )
}

/** Whether a fault only repeats the message, as the only one often does. */
const saysTheSame = (fault: string, message: string): boolean => fault.toLowerCase().startsWith(message.toLowerCase())

/** The stages of the archive; undefined where nothing was looked at. */
const stagesOf = (examined: Examined | undefined): readonly string[] | undefined =>
  examined?.projects[0]?.stages.map(({ slug }) => slug)

const MODES: Readonly<Record<ExaminedStage['mode'], string>> = {
  build: 'It is empty, and is built from the archive.',
  swap: 'Readers see the present rows until all those of the archive are there.',
  'in place': 'It is emptied and loaded where it is: readers wait meanwhile.',
}

function Changes({ examined, earlier }: { readonly examined: Examined; readonly earlier: string | undefined }) {
  const tables = examined.projects.flatMap(({ stages }) => stages.flatMap((stage) => stage.tables))
  const isAlike = tables.every(({ rowsNow, rowsAfter }) => rowsNow === rowsAfter)
  return (
    <>
      {isAlike && (
        <p class="note" role="status">
          The archive has as many rows of every table as there are now.
          {earlier !== undefined && (
            <>
              {' '}
              If rows are missing, <a href={earlier}>look at the archive before it</a>.
            </>
          )}
        </p>
      )}
      <p class="quiet">The numbers of rows are compared, not what is in them.</p>
      {examined.projects.map(({ slug, roles, stages }) => (
        <div key={slug}>
          {roles !== null && <p>Its roles and its event log are replaced, too ({toCounted(roles, 'role')}).</p>}
          {stages.map((stage) => (
            <section class="card" key={stage.slug} aria-label={`What changes in ${stage.slug}`}>
              <h2>Stage {stage.slug}</h2>
              <p>
                {MODES[stage.mode]}{' '}
                {stage.undoable
                  ? `It can be undone for ${toCounted(stage.undoHours, 'hour')}.`
                  : 'It cannot be undone.'}
              </p>
              {[...stage.reasonsInPlace, ...[...stage.leftOut, ...stage.notReplaced].map(inOneLine)].map((text) => (
                <p class="quiet" key={text}>
                  {shown(text)}
                </p>
              ))}
              <ComparedTables
                label={`Tables of ${stage.slug}`}
                tables={asCompared(stage.tables)}
                titles={['Rows now', 'In the archive']}
              />
            </section>
          ))}
        </div>
      ))}
    </>
  )
}

const inOneLine = ({
  kind,
  name,
  detail,
}: {
  readonly kind: string
  readonly name: string
  readonly detail?: string
}) => `${kind} ${name}${detail ? `: ${detail}` : ''}`

interface ConfirmationProps extends PreviewProps {
  /** Those of the archive, as far as that is known. */
  readonly stages: readonly string[] | undefined
  readonly allowIncomplete: boolean
}

/** The name has to be typed, so that nobody replaces a project by a click too many. */
function Confirmation({ client, archive, target, stages, allowIncomplete }: ConfirmationProps) {
  const [typed, setTyped] = useState('')
  const [named, setNamed] = useState('live')
  /** The project that was made for this: it is there when the rest has failed, and is tried again. */
  const [made, setMade] = useState<string>()
  const { isBusy, failure, act } = useAction()
  // Sent again, as by a second click, it is the same job.
  const [key] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join('-'))
  const restore = async (): Promise<void> => {
    if (target.isNew && made !== target.slug) {
      const json = { slug: target.slug, stages: stages ?? named.split(',').map((slug) => slug.trim()) }
      await client.json('/projects', { method: 'POST', json })
      setMade(target.slug)
    }
    const query = queryOf({ project: archive.project, targetSlug: target.slug, allowIncomplete })
    const ask = { method: 'POST', prefer: 'respond-async', idempotencyKey: key } as const
    const { id } = await client.json<Job>(`${archive.path}?${query}`, ask)
    location.hash = `/jobs/${id}`
  }
  return (
    <form
      class="fields confirm"
      onSubmit={(event) => {
        event.preventDefault()
        act(restore)
      }}
    >
      {target.isNew && stages && (
        <p>
          The project {target.slug} is made, with the stages {stages.join(', ')}.
        </p>
      )}
      {target.isNew && !stages && (
        <>
          <label for="stages">Stages of the archive, separated by commas</label>
          <input id="stages" required value={named} onInput={(event) => setNamed(event.currentTarget.value)} />
        </>
      )}
      {!target.isNew && (
        <>
          <label for="typed">
            Type <strong>{target.slug}</strong> to replace what it has
          </label>
          <input
            id="typed"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </>
      )}
      <SubmitButton
        word="Restore"
        isBusy={isBusy}
        first={target.isNew || isTyped(typed, target.slug) ? undefined : 'Type the project’s name first.'}
      />
      {isBusy && <p role="status">The archive is checked once more; then the restore begins …</p>}
      <Failure text={failure} />
    </form>
  )
}
