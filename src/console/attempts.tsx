import { shown } from './shown.ts'
import { type Column, Table } from './table.tsx'
import type { Job } from './types.ts'
import { inUnits, Time } from './words.tsx'

type Attempt = Job['attempts'][number]

/** How an attempt went, in words: the class of a status with that colour, and the word. */
const OUTCOMES: Readonly<Record<NonNullable<Attempt['outcome']>, readonly [string, string]>> = {
  succeeded: ['succeeded', 'succeeded'],
  failed: ['failed', 'failed'],
  cancelled: ['cancelled', 'cancelled'],
  stopped: ['cancelled', 'given back: its process was stopped'],
  lost: ['failed', 'lost'],
}

/** The log of a job's attempts. */
export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return null
  const showsWorkers = attempts.some(({ worker }) => worker !== null)
  return (
    <>
      <h2>Attempts</h2>
      <Table
        label="Attempts"
        columns={showsWorkers ? [...COLUMNS, PROCESS, OUTCOME] : [...COLUMNS, OUTCOME]}
        rows={attempts}
        keyOf={({ number }) => number}
      />
    </>
  )
}

function Outcome({ attempt: { outcome, error } }: { readonly attempt: Attempt }) {
  const [status, words] = outcome === null ? ['running', 'under way'] : OUTCOMES[outcome]
  return (
    <>
      <span class={`status ${status}`}>{words}</span>
      {error && shown(`: ${error.detail} (${error.code})`)}
    </>
  )
}

const COLUMNS: readonly Column<Attempt>[] = [
  { title: 'Attempt', isNumber: true, draw: ({ number }) => number },
  { title: 'Began', draw: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Took', draw: tookOf, classOf: () => 'short' },
]
const PROCESS: Column<Attempt> = { title: 'Process', draw: ({ worker }) => worker && shown(worker) }
const OUTCOME: Column<Attempt> = {
  title: 'Outcome',
  draw: (attempt) => <Outcome attempt={attempt} />,
  classOf: () => 'long',
}

function tookOf({ startedAt, endedAt }: Attempt): string {
  return endedAt === null ? '' : inUnits((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000)
}
