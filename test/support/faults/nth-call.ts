/** A failure of one call. */
export interface Fault {
  /** Which one, counted from 1. */
  readonly nth: number
  /** Whether the call is not made at all, or is made, and only its answer does not come. */
  readonly lost: 'call' | 'answer'
}

/** Where a service calls something else, and a call can be made to fail. */
export interface Seam {
  /** Counts from one again, and lets one call fail. */
  arm(fault: Fault): void
  /** Lets every call through. @returns how many there were meanwhile. */
  disarm(): number
}

/** Counts calls, and says what is to become of each. */
export interface CallCounter extends Seam {
  /** Called with each call. @returns how it fails; undefined where it does not. */
  count(): Fault['lost'] | undefined
}

export function createCallCounter(): CallCounter {
  let armed: Fault | undefined
  let calls = 0
  return {
    arm(fault) {
      armed = fault
      calls = 0
    },
    disarm() {
      armed = undefined
      return calls
    },
    count() {
      calls += 1
      return calls === armed?.nth ? armed.lost : undefined
    },
  }
}
