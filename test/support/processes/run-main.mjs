/**
 * Runs the program, whose jobs go by other timings than in production: those in `TEST_TIMINGS`, as JSON.
 *
 * Usage: as the program's own.
 */
import { JOB_TIMINGS } from '../../../src/jobs/timings.ts'

Object.assign(JOB_TIMINGS, JSON.parse(process.env.TEST_TIMINGS ?? '{}'))
await import('../../../src/main.ts')
