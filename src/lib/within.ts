/**
 * Waits for work, but only for so long. The work itself is not stopped.
 *
 * @param late gives what counts where the work has not ended in time, or throws it.
 */
export async function within<T, Late>(limitMs: number, work: Promise<T>, late: () => Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined
  const expiry = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  try {
    return await Promise.race([work, expiry.then(late)])
  } finally {
    clearTimeout(timer)
  }
}
