import type { Container } from '../../container.ts'
import { doctorSchema, statusSchema } from '../../contract/health.ts'
import type { Checked } from '../../doctor/check.ts'
import { readStatus } from '../../doctor/read-status.ts'
import { runChecks } from '../../doctor/run-checks.ts'
import type { Caller } from '../../projects/access.ts'
import { json } from '../answer.ts'
import { type BoundRoute, routesUnder } from '../route.ts'

const route = routesUnder('service')

const status = route('GET /status', {
  operationId: 'showStatus',
  summary:
    'How the installation does: processes, queue, jobs, archives, and what somebody should look at; for the root token',
  access: { by: 'root' },
  answers: { 200: json(statusSchema, 'What `wharf status` says, schedules aside.') },
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

/** `/status` and `/doctor` */
export function healthRoutes({ control, config, version }: Container): readonly BoundRoute<Caller>[] {
  let looking: Promise<readonly Checked[]> | undefined
  const look = (): Promise<readonly Checked[]> => {
    looking ??= runChecks(config, { version, environmentFile: undefined }).finally(() => {
      looking = undefined
    })
    return looking
  }
  return [
    status.handle<Caller>(async () => {
      const { schedules: _, processes, ...same } = await readStatus(control, config, version)
      const shown = processes.map(({ parts, host, pid, version: own, startedAt }) => ({
        ...{ parts: [...parts], host, pid, startedAt },
        version: own,
      }))
      return { status: 200, body: { ...same, processes: shown, problems: [...same.problems] } }
    }),
    doctor.handle<Caller>(async () => {
      const checks = await look()
      return { status: 200, body: { ok: checks.every((each) => each.status !== 'fault'), checks: [...checks] } }
    }),
  ]
}
