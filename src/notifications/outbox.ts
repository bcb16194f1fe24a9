import type { Transaction } from '../database/database.ts'

/** What is told of a schedule, beside the ends of its jobs. */
export interface ScheduleNotification {
  readonly type: 'schedule.missed' | 'archive.overdue' | 'archive.shrunk'
  readonly scheduleId: string
  /** What is sent, beside what the schedule is. */
  readonly data: object
}

/** Writes a notification, in the transaction that makes true what it says, if there is anybody to tell. */
export const note = (tx: Transaction, { type, scheduleId, data }: ScheduleNotification): Promise<unknown> =>
  tx.$executeRaw`
    INSERT INTO control.notification (type, schedule_id, data)
    SELECT ${type}, ${scheduleId}::uuid, ${JSON.stringify(data)}::jsonb
     WHERE EXISTS (SELECT FROM control.webhook WHERE enabled)`
