import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { Scrolling } from './scrolling.tsx'
import type { Queue } from './types.ts'
import { useLive } from './use-live.ts'
import { inUnits, Time, toCount } from './words.tsx'

const PAUSE_MS = 2_000

/**
 * What is in the queue that carries jobs to workers. Bull Board does not show it: its page stays blank under the policy of
 * these pages, since it loads its parts by URLs that Trusted Types forbid, and has styles within its HTML and a font of
 * another host; and it sends no header, with which alone the cookie of a session counts.
 */
export function QueueFacts({ client }: { readonly client: Client }) {
  const { value, failure } = useLive(
    'queue',
    (signal) => client.json<Queue>('/queue', { signal }),
    () => PAUSE_MS,
  )
  return (
    <>
      <h2>Queue</h2>
      <Failure text={failure} />
      {value && (
        <>
          <Kinds kinds={value.kinds} />
          {value.entries.length === 0 ? <p>It is empty.</p> : <Entries entries={value.entries} />}
        </>
      )}
    </>
  )
}

const Kinds = ({ kinds }: Pick<Queue, 'kinds'>) => (
  <Scrolling label="Queue">
    <table>
      <thead>
        <tr>
          <th scope="col">Jobs</th>
          {['Active', 'Waiting', 'Delayed', 'Failed', 'Stalled'].map((name) => (
            <th key={name} scope="col" class="number">
              {name}
            </th>
          ))}
          <th scope="col" class="number">
            Oldest
          </th>
        </tr>
      </thead>
      <tbody>
        {kinds.map(({ kind, active, waiting, delayed, failed, stalled, oldestWaitingSeconds }) => (
          <tr key={kind}>
            <th scope="row">{kind}s</th>
            <td class="number">{toCount(active)}</td>
            <td class="number">{toCount(waiting)}</td>
            <td class="number">{toCount(delayed)}</td>
            <td class="number">{toCount(failed)}</td>
            <td class={stalled > 0 ? 'number status failed' : 'number'}>{toCount(stalled)}</td>
            <td class="number">{oldestWaitingSeconds > 0 ? inUnits(oldestWaitingSeconds) : ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolling>
)

const Entries = ({ entries }: Pick<Queue, 'entries'>) => (
  <Scrolling label="Entries of the queue">
    <table>
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">Kind</th>
          <th scope="col">State</th>
          <th scope="col">Added</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(({ jobId, kind, state, addedAt }) => (
          <tr key={jobId}>
            <th scope="row">
              <a href={`#/jobs/${jobId}`}>{jobId}</a>
            </th>
            <td>{kind}</td>
            <td>{state}</td>
            <td>
              <Time at={addedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolling>
)
