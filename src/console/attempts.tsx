import { adviceFor } from './advice.ts'
import { Scrolling } from './scrolling.tsx'
import type { Job } from './types.ts'
import { inUnits, shown, Time } from './words.tsx'

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
      <Scrolling label="Attempts">
        <table class="attempts">
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">Began</th>
              <th scope="col">Took</th>
              {showsWorkers && <th scope="col">Process</th>}
              <th scope="col">Outcome</th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((attempt) => (
              <tr key={attempt.number}>
                <th scope="row" class="number">
                  {attempt.number}
                </th>
                <td>
                  <Time at={attempt.startedAt} />
                </td>
                <td>{tookOf(attempt)}</td>
                {showsWorkers && <td>{attempt.worker && shown(attempt.worker)}</td>}
                <td>
                  <Outcome attempt={attempt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </>
  )
}

function Outcome({ attempt: { outcome, error } }: { readonly attempt: Attempt }) {
  const [status, words] = outcome === null ? ['running', 'under way'] : OUTCOMES[outcome]
  const advice = error && outcome !== 'lost' && adviceFor(error.code)
  return (
    <>
      <span class={`status ${status}`}>{words}</span>
      {error && shown(`: ${error.detail} (${error.code})`)}
      {advice && <p class="quiet">{advice}</p>}
    </>
  )
}

const tookOf = ({ startedAt, endedAt }: Attempt): string =>
  endedAt === null ? '' : inUnits((Date.parse(endedAt) - Date.parse(startedAt)) / 1_000)
