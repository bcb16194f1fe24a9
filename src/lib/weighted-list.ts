/** What a header such as `Accept` or `Accept-Encoding` names, in lower case. */
export interface Weighted {
  readonly name: string
  readonly parameters: readonly string[]
  /** From 0, which is not wanted at all, to 1. */
  readonly weight: number
}

/** @see RFC 9110, section 12.4.2 */
export const weightedList = (header: string): readonly Weighted[] =>
  header
    .toLowerCase()
    .split(',')
    .map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))
      return { name, parameters, weight: weight === undefined ? 1 : Number(weight.slice(2)) }
    })

/** Whether a client takes gzip, as its header `Accept-Encoding` has it. @see RFC 9110, section 12.5.3 */
export const takesGzip = (acceptEncoding: string | undefined): boolean =>
  acceptEncoding !== undefined &&
  weightedList(acceptEncoding).some(({ name, weight }) => (name === 'gzip' || name === 'x-gzip') && weight > 0)
