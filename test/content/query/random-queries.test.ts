import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planRead, toRequestFailure } from '../../../src/content/query/index.ts'
import { isAppError } from '../../../src/errors.ts'
import { askedAtRandom, isUnordered, parametersOf } from '../../support/content/ask-at-random.ts'
import { type Asked, evaluate } from '../../support/content/asked-rows.ts'
import { insertOf, QUAY } from '../../support/content/quay.ts'
import { openQueryStage, type QueryStage } from '../../support/content/record-shop.ts'

/** `QUERIES=20000` asks as many, and `QUERY_SEED` those of one run again. */
const QUERIES = Number(process.env.QUERIES ?? 300)
const seed = Number(process.env.QUERY_SEED ?? Math.floor(Math.random() * 2 ** 31))

let stage: QueryStage
beforeAll(async () => {
  stage = await openQueryStage(async (session) => {
    await session.runFixture('quay.sql')
    await session.run(Object.keys(QUAY).map(insertOf))
  })
})
afterAll(() => stage.close())

/** Rows without an order, where none was asked for. */
const unordered = (value: unknown): unknown => {
  if (Array.isArray(value))
    return value.map(unordered).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, of]) => [name, unordered(of)])
      .toSorted(),
  )
}

async function rowsAndTotal(asked: Asked): Promise<{ rows: unknown; total: number } | undefined> {
  try {
    const plan = planRead(stage.catalog, asked.table, parametersOf(asked), { format: 'json', count: 'exact' })
    const { text, values } = plan.statement
    const [row] = await stage.session.query<{ body: string; total: number }>(text, values).catch((error: unknown) => {
      throw toRequestFailure(plan, error)
    })
    return { rows: JSON.parse(row?.body ?? 'null'), total: row?.total ?? -1 }
  } catch (error) {
    if (isAppError(error, 'INVALID_REQUEST')) return undefined
    throw error
  }
}

test(
  `${QUERIES} queries that are made up (QUERY_SEED=${seed}) find the rows that the dialect says, or are refused`,
  async () => {
    let answered = 0
    await fc.assert(
      fc.asyncProperty(askedAtRandom, async (asked) => {
        const found = await rowsAndTotal(asked)
        if (!found) return
        answered += 1
        const inForm = isUnordered(asked) ? unordered : (value: unknown) => value
        const text = `/${asked.table}?${parametersOf(asked)
          .map((each) => each.join('='))
          .join('&')}`
        expect(inForm(found.rows), text).toEqual(inForm(evaluate(asked)))
        expect(found.total, text).toBe(evaluate({ ...asked, limit: null, offset: 0 }).length)
      }),
      { numRuns: QUERIES, seed, endOnFailure: QUERIES > 1000 },
    )
    expect(answered).toBeGreaterThan(QUERIES * 0.9)
  },
  60_000 + QUERIES * 20,
)
