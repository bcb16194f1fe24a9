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

/** The log of a job's attempts. What the job failed with stands above it. */
export function Attempts({ job: { attempts, error } }: { readonly job: Job }) {
  if (attempts.length === 0) return null
  const showsWorkers = attempts.some(({ worker }) => worker !== null)
  const outcome: Column<Attempt> = {
    title: 'Outcome',
    draw: (attempt) => <Outcome attempt={attempt} said={error?.detail} />,
    classOf: () => 'long',
  }
  return (
    <>
      <h2>Attempts</h2>
      <Table
        label="Attempts"
        columns={showsWorkers ? [...COLUMNS, PROCESS, outcome] : [...COLUMNS, outcome]}
        rows={attempts}
        keyOf={({ number }) => number}
      />
    </>
  )
}

interface OutcomeProps {
  readonly attempt: Attempt
  /** What is said already. */
  readonly said: string | undefined
}

function Outcome({ attempt: { outcome, error }, said }: OutcomeProps) {
  const [status, words] = outcome === null ? ['running', 'under way'] : OUTCOMES[outcome]
  return (
    <>
      <span class={`status ${status}`}>{words}</span>
      {error && (error.detail === said ? ', as said above' : shown(`: ${error.detail} (${error.code})`))}
    </>
  )
}

const COLUMNS: readonly Column<Attempt>[] = [
  { title: 'Attempt', isNumber: true, draw: ({ number }) => number },
  { title: 'Began', draw: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Took', draw: tookOf, classOf: () => 'short' },
]
const PROCESS: Column<Attempt> = { title: 'Process', draw: ({ worker }) => worker && shown(worker) }

function tookOf({ startedAt, endedAt }: Attempt): string {
  return endedAt === null ? '' : inUnits((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000)
}
