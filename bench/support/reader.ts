import pg from 'pg'

export interface Reader {
  /** @returns the longest that one read took, in milliseconds. */
  stop(): Promise<number>
}

/** Reads a few rows of a table again and again, as somebody does who is waiting for an answer. */
export async function watchReads(connectionString: string, table: string): Promise<Reader> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  let going = true
  let longestMs = 0
  const read = async (): Promise<void> => {
    while (going) {
      const start = performance.now()
      await client.query(`SELECT count(*) FROM (SELECT FROM ${table} LIMIT 20) AS page`)
      longestMs = Math.max(longestMs, performance.now() - start)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const reading = read()
  return {
    async stop() {
      going = false
      await reading
      await client.end()
      return longestMs
    },
  }
}
