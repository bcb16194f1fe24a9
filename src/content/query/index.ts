export type * from './catalog.ts'
export type { CallBody, FunctionCall } from './function-call.ts'
export {
  aggregateFor,
  MADE_TYPES,
  type MadeOf,
  mayBeMade,
  noneOf,
  RESULT_TYPES,
  ROW_TYPES,
} from './media-types.ts'
export { planCall } from './plan-call.ts'
export { planDelete, planUpdate } from './plan-change.ts'
export { planInsert, planPut } from './plan-insert.ts'
export { findTable, planRead } from './plan-read.ts'
export type * from './plans.ts'
export { POSTGREST } from './postgrest-codes.ts'
export { POSTGREST_SAYS } from './postgrest-words.ts'
export { type CatalogQuery, readCatalog } from './read-catalog.ts'
export { readTotal } from './read-total.ts'
export { parameterSource } from './reader.ts'
export { toRequestFailure } from './request-failure.ts'
