/** Reads a date, which means its first moment in UTC, or a time, which needs its zone: without one it would mean something else on every machine. */
export function parseMoment(text: string): Date | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text)
  if (!match?.[1] || !isCalendarDate(match[1])) return undefined
  const moment = new Date(text)
  return Number.isNaN(moment.getTime()) ? undefined : moment
}

/** `Date` takes 31 June for 1 July. */
function isCalendarDate(date: string): boolean {
  const parsed = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date)
}
