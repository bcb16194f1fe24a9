import type { Container } from '../../container.ts'
import { doctorSchema, statusSchema } from '../../contract/health.ts'
import { queueSchema } from '../../contract/queue.ts'
import type { Checked } from '../../doctor/check.ts'
import { readStatus } from '../../doctor/read-status.ts'
import { runChecks } from '../../doctor/run-checks.ts'
import { readQueue } from '../../jobs/read-queue.ts'
import type { Caller } from '../../projects/access.ts'
import { json } from '../answer.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('service')

const status = route('GET /status', {
  operationId: 'showStatus',
  summary:
    'How the installation does: processes, queue, jobs, archives, and what somebody should look at; for the root token',
  access: { by: 'root' },
  answers: { 200: json(statusSchema, 'What `wharf status` says.') },
})

const doctor = route('GET /doctor', {
  operationId: 'runDoctor',
  summary: 'Looks at all that the service needs, and changes nothing; for the root token',
  description:
    'What `wharf doctor` says, as the process sees it that answers. Each check takes 30 seconds at most; those who ask at the ' +
    'same time share one look.',
  access: { by: 'root' },
  canWaitLong: true,
  answers: { 200: json(doctorSchema, 'What each check has found.') },
})

const showQueue = route('GET /queue', {
  operationId: 'showQueue',
  summary: 'What is in the queue, and which jobs wait; for the root token',
  description:
    'The queue carries ids to workers, and what it forgets is put there again: what a job is and how it does, its record says.',
  access: { by: 'root' },
  answers: { 200: json(queueSchema, 'What is in the queue now.') },
  errors: ['QUEUE_UNAVAILABLE'],
})

/** `/status`, `/doctor` and `/queue` */
export function healthRoutes({
  control,
  config,
  version,
  queue,
  jobTimings,
}: Container): readonly BoundRoute<Caller>[] {
  let looking: Promise<readonly Checked[]> | undefined
  const look = (): Promise<readonly Checked[]> => {
    looking ??= runChecks(config, { version, environmentFile: undefined }).finally(() => {
      looking = undefined
    })
    return looking
  }
  return [
    status.handle<Caller>(async () => {
      const { schedules, processes, ...same } = await readStatus(control, config, version)
      const shown = processes.map(({ parts, host, pid, version: own, startedAt }) => ({
        ...{ parts: [...parts], host, pid, startedAt },
        version: own,
      }))
      return {
        status: 200,
        body: { ...same, schedules: [...schedules], processes: shown, problems: [...same.problems] },
      }
    }),
    doctor.handle<Caller>(async () => {
      const checks = await look()
      return { status: 200, body: { ok: checks.every((each) => each.status !== 'fault'), checks: [...checks] } }
    }),
    showQueue.handle<Caller>(async () => ({
      status: 200,
      body: await readQueue({ control: control.prisma, queue, leaseMs: jobTimings.leaseMs }),
    })),
  ]
}
