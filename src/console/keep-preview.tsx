import { type Client, RequestError } from './client.ts'
import type { KeepPreview as Preview } from './types.ts'
import { useLive } from './use-live.ts'
import { Time, toCount, toCounted, toSize } from './words.tsx'

/** So many of those that would go are named. */
const NAMED = 10

interface KeepPreviewProps {
  readonly client: Client
  readonly scheduleId: string
  readonly keep: { readonly last?: number; readonly days?: number }
}

/** Which archives rules would let go of, before they are saved. */
export function KeepPreview({ client, scheduleId, keep }: KeepPreviewProps) {
  const { value } = useLive<Preview | undefined>(
    `keep ${scheduleId} ${JSON.stringify(keep)}`,
    (signal) =>
      client
        .json<Preview>(`/schedules/${scheduleId}/keep-preview`, { method: 'POST', json: keep, signal })
        .catch((error: unknown) => {
          // It is being typed: what is wrong is told when it is saved.
          if (error instanceof RequestError && error.status === 400) return undefined
          throw error
        }),
    () => undefined,
    true,
  )
  if (!value) return null
  const going = value.archives.filter(({ kept }) => !kept)
  const bytes = going.reduce((sum, archive) => sum + archive.bytes, 0)
  return (
    <div role="status" class="preview">
      {going.length === 0 ? (
        <p class="quiet">By these rules, every archive stays.</p>
      ) : (
        <>
          <p class="note">
            Once saved, the next run that succeeds{' '}
            <strong>
              deletes {toCount(going.length)} of {toCounted(value.archives.length, 'archive')}
            </strong>{' '}
            ({toSize(bytes)}):
          </p>
          <ul class="plain">
            {going.slice(0, NAMED).map(({ jobId, finishedAt, provenAt }) => (
              <li key={jobId}>
                <a href={`#/jobs/${jobId}`}>
                  <Time at={finishedAt} />
                </a>
                {provenAt && ', proven'}
              </li>
            ))}
          </ul>
          {going.length > NAMED && <p class="quiet">and {toCount(going.length - NAMED)} more</p>}
        </>
      )}
    </div>
  )
}
