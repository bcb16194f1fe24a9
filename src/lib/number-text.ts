/** A finite number as the shortest text that means the same double. */
export const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))
