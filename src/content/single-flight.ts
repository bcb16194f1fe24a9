/**
 * Lets those who want the same thing at the same time share the making of it.
 *
 * @param key says what is wanted; it has to contain all that the result depends on.
 */
export type SingleFlight<T> = (key: string, make: () => Promise<T>) => Promise<T>

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Promise<T>>()
  return (key, make) => {
    const known = flights.get(key)
    if (known !== undefined) return known
    const flight = make().finally(() => flights.delete(key))
    flights.set(key, flight)
    return flight
  }
}
