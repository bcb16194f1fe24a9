import type { Client } from './client.ts'
import { Failure } from './failure.tsx'
import { type Column, Table } from './table.tsx'
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
          <p class="quiet">
            These entries tell workers which jobs there are; they are not the jobs themselves. The job of a failed entry
            is put here again.
          </p>
          {value.kinds.every(isEmpty) ? <p>The queue is empty.</p> : <Kinds kinds={value.kinds} />}
          {value.entries.length > 0 && <Entries entries={value.entries} />}
        </>
      )}
    </>
  )
}

const Kinds = ({ kinds }: Pick<Queue, 'kinds'>) => (
  <Table label="Queue" columns={KIND_COLUMNS} rows={kinds} keyOf={({ kind }) => kind} />
)

type Kind = Queue['kinds'][number]

const isEmpty = ({ active, waiting, delayed, failed, stalled }: Kind): boolean =>
  active + waiting + delayed + failed + stalled === 0

const KIND_COLUMNS: readonly Column<Kind>[] = [
  { title: 'Entries for', draw: ({ kind }) => `${kind}s` },
  { title: 'Active', isNumber: true, draw: ({ active }) => toCount(active) },
  { title: 'Waiting', isNumber: true, draw: ({ waiting }) => toCount(waiting) },
  { title: 'Delayed', isNumber: true, draw: ({ delayed }) => toCount(delayed) },
  { title: 'Failed', isNumber: true, draw: ({ failed }) => toCount(failed) },
  {
    title: 'Stalled',
    isNumber: true,
    draw: ({ stalled }) => toCount(stalled),
    classOf: ({ stalled }) => (stalled > 0 ? 'status failed' : ''),
  },
  {
    title: 'Oldest',
    isNumber: true,
    draw: ({ oldestWaitingSeconds: seconds }) => (seconds > 0 ? inUnits(seconds) : '–'),
  },
]

const Entries = ({ entries }: Pick<Queue, 'entries'>) => (
  <Table label="Entries of the queue" columns={ENTRY_COLUMNS} rows={entries} keyOf={({ jobId }) => jobId} />
)

type Entry = Queue['entries'][number]

const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  { title: 'Job', draw: ({ jobId }) => <a href={`#/jobs/${jobId}`}>{jobId}</a> },
  { title: 'Kind', draw: ({ kind }) => kind },
  { title: 'State', draw: ({ state }) => state },
  { title: 'Added', draw: ({ addedAt }) => <Time at={addedAt} /> },
]
