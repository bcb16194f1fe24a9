const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `15,607` */
export const formatCount = (count: number): string => count.toLocaleString('en-US')

/** `15,607 rows`, `1 row` */
export const formatCounted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

/** `3.4 MB`; powers of 1000. */
export function formatBytes(bytes: number): string {
  let [amount, unit] = [bytes, 0]
  while (amount >= 999.5 && unit < BYTE_UNITS.length - 1) {
    amount /= 1000
    unit += 1
  }
  return `${unit === 0 || amount >= 99.5 ? Math.round(amount) : amount.toFixed(1)} ${BYTE_UNITS[unit]}`
}

/** `0.8 s`, `3:05`, `1:02:03` */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const clock = [...(hours > 0 ? [hours] : []), minutes, whole % 60]
  return clock.map((part, index) => String(part).padStart(index === 0 ? 1 : 2, '0')).join(':')
}
