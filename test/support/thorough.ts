/** Whether tests take every turn, on every server: `THOROUGH=1`. Without it, the largest take fewer, so that the suite ends within minutes. */
export const isThorough = process.env.THOROUGH !== undefined

/** Turns that are alike: all of them, or, unless tests are thorough, each so many of them and the last. */
export const someOf = <Turn>(turns: readonly Turn[], step: number): readonly Turn[] =>
  isThorough ? turns : turns.filter((_, index) => index % step === 0 || index === turns.length - 1)

/** The whole numbers from one up to another, as turns. @param end is none of them. */
export const numbers = (start: number, end: number): readonly number[] =>
  Array.from({ length: end - start }, (_, index) => start + index)
