import { z } from 'zod'
import type { ReadPlan, SqlStatement } from './plans.ts'

const plansSchema = z.array(z.object({ Plan: z.object({ 'Plan Rows': z.number() }) })).min(1)
const explainedSchema = z.array(z.object({ 'QUERY PLAN': z.union([z.string(), plansSchema]) })).min(1)

/**
 * The total of a read's rows, as its `count` asks for it; null where it does not.
 *
 * `estimated` is exact up to a limit, and above it what PostgreSQL's planner expects, as in PostgREST.
 *
 * @param row what the plan's statement gave.
 * @param query runs one more statement, where the total is PostgreSQL's estimate.
 */
export async function readTotal(
  { count, countedUpTo, estimate }: ReadPlan,
  { total }: { readonly total: number | null },
  query: (statement: SqlStatement) => Promise<readonly unknown[]>,
): Promise<number | null> {
  if (estimate === null || count === null) return total
  if (count === 'estimated' && (total ?? 0) <= (countedUpTo ?? 0)) return total
  return Math.max(total ?? 0, plannedRows(await query(estimate)))
}

function plannedRows(rows: readonly unknown[]): number {
  const [row] = explainedSchema.parse(rows)
  const explained = row?.['QUERY PLAN']
  const [plan] = typeof explained === 'string' ? plansSchema.parse(JSON.parse(explained)) : (explained ?? [])
  return plan?.Plan['Plan Rows'] ?? 0
}
