/** One call that is lost. */
export interface LostCall {
  /** Which one, counted from 1. */
  readonly nth: number
  /** `call` where it is not made at all, `answer` where it is made and only its answer does not come. */
  readonly lost: 'call' | 'answer'
}

/** Where a service calls something else, and a call can be made to fail. */
export interface FailPoint {
  /** Counts from one again, and lets one call fail. */
  arm(lostCall: LostCall): void
  /** Lets every call through. @returns how many there were meanwhile. */
  disarm(): number
}

/** Counts calls, and says what is to become of each. */
export interface CallCounter extends FailPoint {
  /** Called with each call. @returns how it fails; undefined where it does not. */
  count(): LostCall['lost'] | undefined
}

export function createCallCounter(): CallCounter {
  let armed: LostCall | undefined
  let calls = 0
  return {
    arm(lostCall) {
      armed = lostCall
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
