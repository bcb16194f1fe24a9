/** What goes with projects that are forgotten, and what stays. */
export interface Forgetting {
  readonly force?: boolean
  readonly deleteSchedules?: boolean
}

/** The query that says so. */
export function forgetting({ force, deleteSchedules }: Forgetting): string {
  const asked = [...(force ? ['force=true'] : []), ...(deleteSchedules ? ['deleteSchedules=true'] : [])]
  return asked.length === 0 ? '' : `?${asked.join('&')}`
}
