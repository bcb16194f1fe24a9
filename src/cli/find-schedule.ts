import type { z } from 'zod'
import type { FromServer } from '../contract/from-server.ts'
import { scheduleSchema } from '../contract/schedule.ts'
import { findNamed, isId } from './find-named.ts'
import type { HttpClient } from './http.ts'
import { listAll } from './server-api.ts'

const namedSchedule = scheduleSchema.pick({ id: true, name: true, kind: true })

type NamedSchedule = FromServer<z.output<typeof namedSchedule>>

/** The schedule that is meant. @param text its id, or its name. @throws {AppError} as `findNamed`. */
export const findSchedule = async (http: HttpClient, text: string): Promise<NamedSchedule> =>
  findNamed(await listAll(http, { path: '/schedules', item: namedSchedule }), 'schedule', text)

/** Its id: that of a schedule which is given by its id is not looked for. @throws {AppError} as `findNamed`. */
export const findScheduleId = async (http: HttpClient, text: string): Promise<string> =>
  isId(text) ? text : (await findSchedule(http, text)).id
