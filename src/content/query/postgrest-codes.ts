/**
 * The codes by which PostgREST's clients know failures, where neither the kind of failure says them nor PostgreSQL.
 *
 * @see https://docs.postgrest.org/en/stable/references/errors.html
 */
export const POSTGREST = {
  malformedQuery: 'PGRST100',
  malformedBody: 'PGRST102',
  putWithoutKey: 'PGRST105',
  unknownSchema: 'PGRST106',
  notEmbedded: 'PGRST108',
  putWithLimit: 'PGRST114',
  putOfAnotherKey: 'PGRST115',
  notOneRow: 'PGRST116',
  orderByMany: 'PGRST118',
  unknownPreference: 'PGRST122',
  tooManyAffected: 'PGRST124',
  aggregateOfMany: 'PGRST127',
  affectedUnknown: 'PGRST128',
  unknownRelation: 'PGRST200',
  ambiguousRelation: 'PGRST201',
  unknownFunction: 'PGRST202',
  unknownColumnOfBody: 'PGRST204',
  unknownTable: 'PGRST205',
  /** As PostgreSQL has it: undefined_column. */
  unknownColumn: '42703',
  /** As PostgreSQL has it: undefined_object. */
  unknownType: '42704',
  /** As PostgreSQL has it: undefined_function, which operators are, too. */
  unknownOperator: '42883',
  /** As PostgreSQL has it: generated_always. */
  generatedColumn: '428C9',
} as const
