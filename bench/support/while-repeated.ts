/** Runs `load` again and again until `measured` has ended; the last time to its end. */
export async function whileRepeated<T>(load: () => Promise<void>, measured: () => Promise<T>): Promise<T> {
  const state = { isOver: false }
  const again = async (): Promise<void> => {
    while (!state.isOver) await load()
  }
  const loading = again()
  const result = await measured()
  state.isOver = true
  await loading
  return result
}
