/** Why an attempt was stopped before it had ended. */
export type StopReason = 'cancelled' | 'lost' | 'shutdown' | 'timed out'

/** The reason of the signal that stops an attempt. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly why: StopReason

  constructor(why: StopReason) {
    super(`the job was stopped: ${why}`)
    this.why = why
  }
}
