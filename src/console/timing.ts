/** How often a schedule runs, as people pick it. */
export type Rhythm = 'hour' | 'day' | 'week' | 'month' | 'cron'

export interface Picked {
  readonly rhythm: Rhythm
  /** `02:30` */
  readonly time: string
  /** 0 is Sunday. */
  readonly weekday: string
  /** Of the month, from 1. */
  readonly day: string
  /** As it was typed, for `cron`. */
  readonly cron: string
}

export const USUAL: Picked = { rhythm: 'day', time: '02:30', weekday: '0', day: '1', cron: '' }

export const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** What was picked as a cron expression. */
export function toCron({ rhythm, time, weekday, day, cron }: Picked): string {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  switch (rhythm) {
    case 'hour':
      return `${minute} * * * *`
    case 'day':
      return `${minute} ${hour} * * *`
    case 'week':
      return `${minute} ${hour} * * ${weekday}`
    case 'month':
      return `${minute} ${hour} ${day} * *`
    case 'cron':
      return cron
  }
}

const PICKED = /^(\d{1,2}) (\d{1,2}|\*) (\d{1,2}|\*) \* ([0-6]|\*)$/

/** How a cron expression would have been picked; as it is typed where it could not. */
export function fromCron(cron: string): Picked {
  const [, minute = '', hour = '', day = '', weekday = ''] = PICKED.exec(cron) ?? []
  const typed: Picked = { ...USUAL, rhythm: 'cron', cron }
  if (minute === '' || (day !== '*' && weekday !== '*')) return typed
  const time = `${(hour === '*' ? '0' : hour).padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (hour === '*') return day === '*' && weekday === '*' ? { ...USUAL, rhythm: 'hour', time } : typed
  if (day !== '*') return { ...USUAL, rhythm: 'month', time, day }
  return weekday === '*' ? { ...USUAL, rhythm: 'day', time } : { ...USUAL, rhythm: 'week', time, weekday }
}

/** What stands for a cron expression, in words. */
const MACROS: ReadonlyMap<string, string> = new Map([
  ['@hourly', 'every hour, at minute 0'],
  ['@daily', 'every day at 00:00'],
  ['@weekdays', 'every day from Monday to Friday at 00:00'],
  ['@weekends', 'every Saturday and Sunday at 00:00'],
  ['@weekly', 'every Sunday at 00:00'],
  ['@monthly', 'on day 1 of the month at 00:00'],
  ['@yearly', 'on 1 January at 00:00'],
  ['@annually', 'on 1 January at 00:00'],
])

/** When a cron expression runs, in words: `every Saturday at 03:15`; undefined for one that is like no other. */
export function cronInWords(cron: string): string | undefined {
  const { rhythm, time, weekday, day } = fromCron(cron)
  switch (rhythm) {
    case 'hour':
      return `every hour, at minute ${Number(time.slice(3))}`
    case 'day':
      return `every day at ${time}`
    case 'week':
      return `every ${WEEKDAYS[Number(weekday)]} at ${time}`
    case 'month':
      return `on day ${day} of the month at ${time}`
    case 'cron':
      return MACROS.get(cron)
  }
}
