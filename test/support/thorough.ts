/** Whether tests take every turn, on every server: `THOROUGH=1`. Without it, the largest take fewer, so that the suite ends within minutes. */
export const isThorough = process.env.THOROUGH !== undefined
