import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { scheduleSchema } from '../contract/schedule.ts'
import { conflict, notFound } from '../errors.ts'
import type { HttpClient } from './http.ts'
import { listAll } from './server-api.ts'

const namedSchedule = scheduleSchema.pick({ id: true, name: true, kind: true })

type NamedSchedule = FromServer<z.output<typeof namedSchedule>>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The schedule that is meant. @param text its id, or its name.
 *
 * @throws {AppError} NOT_FOUND; CONFLICT where several have the name, with their ids.
 */
export async function findSchedule(http: HttpClient, text: string): Promise<NamedSchedule> {
  const schedules = await listAll(http, { path: '/schedules', item: namedSchedule })
  const found = schedules.filter(({ id, name }) => (UUID.test(text) ? id === text.toLowerCase() : name === text))
  const [schedule] = found
  if (!schedule) throw notFound('schedule', text)
  if (found.length === 1) return schedule
  throw conflict(
    `${found.length} schedules are called "${text}": name one by its id (${found.map(({ id }) => id).join(', ')})`,
  )
}

/** Its id: that of a schedule which is given by its id is not looked for. @throws {AppError} as `findSchedule`. */
export const findScheduleId = async (http: HttpClient, text: string): Promise<string> =>
  UUID.test(text) ? text : (await findSchedule(http, text)).id
