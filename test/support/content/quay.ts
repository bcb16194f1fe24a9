/** A value as JSON has it. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }
export type Row = Readonly<Record<string, Value>>

const rowsOf = (names: string, ...rows: readonly (readonly Value[])[]): readonly Row[] =>
  rows.map((row) => Object.fromEntries(names.split(' ').map((name, index) => [name, row[index] ?? null])))

/** The rows of test/fixtures/quay.sql. Texts are of lower-case letters, which every collation has in one order. */
export const QUAY: Readonly<Record<string, readonly Row[]>> = {
  port: rowsOf(
    'id name country depth open tags data',
    [1, 'alesund', 'no', 12, true, ['ice', 'fish'], { a: 1, b: { c: 'x' } }],
    [2, 'bergen', 'no', 9, false, ['fish'], { a: 2, list: [3, 4] }],
    [3, 'cadiz', 'es', null, null, [], null],
    [4, 'delft', null, 9, true, null, { a: 'one' }],
  ),
  ship: rowsOf(
    'id name home_id last_id tons data',
    [1, 'anna', 1, 2, 10, { kind: 'tug' }],
    [2, 'bark', 1, null, 20, { kind: 'ferry', lanes: 2 }],
    [3, 'cove', 2, 1, 30, null],
    [4, 'dory', null, 3, null, { lanes: 2 }],
    [5, 'eels', 3, 3, 30, { kind: 'tug' }],
  ),
  crew: rowsOf(
    'id name ship_id boss_id rank',
    [1, 'abe', 1, null, 3],
    [2, 'bea', 1, 1, 2],
    [3, 'cid', 2, 1, null],
    [4, 'dan', 3, null, 1],
    [5, 'eva', 3, 4, 2],
    [6, 'fay', null, 4, 2],
  ),
  log: rowsOf('ship_id pages', [1, 7], [3, null], [4, 90]),
  cargo: rowsOf('id name tons', [1, 'corn', 5], [2, 'salt', null], [3, 'wood', 9]),
  loaded: rowsOf('ship_id cargo_id', [1, 1], [1, 2], [2, 1], [5, 3], [5, 1]),
}

/** Each row as an INSERT takes it. */
export const insertOf = (table: string): string =>
  `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, '${JSON.stringify(QUAY[table])}')`

/** What can be read: tables and views, with the functions that are columns of theirs. */
export const READABLE: Readonly<Record<string, readonly Row[]>> = {
  ...QUAY,
  big_ship: (QUAY.ship ?? []).filter(({ tons }) => Number(tons) > 20).map(({ last_id: _, data: __, ...row }) => row),
}

/** The function `shout(ship)`. */
export const COMPUTED: Readonly<Record<string, Readonly<Record<string, (row: Row) => Value>>>> = {
  ship: { shout: ({ name }) => String(name).toUpperCase() },
}

/** A relation, as a query names it. */
export interface RelationOf {
  readonly from: string
  /** With a hint, where it needs one. */
  readonly written: string
  readonly table: string
  readonly toOne: boolean
  readonly rows: (row: Row) => readonly Row[]
}

const equal = (a: string, b: string) => (row: Row) => (other: Row) => row[a] !== null && row[a] === other[b]

const keyed = (
  from: string,
  written: string,
  table: string,
  toOne: boolean,
  ...on: [near: string, far: string]
): RelationOf => ({
  ...{ from, written, table, toOne },
  rows: (row) => (READABLE[table] ?? []).filter(equal(...on)(row)),
})

const across = (
  from: string,
  written: string,
  table: string,
  ...[near, far]: [near: string, far: string]
): RelationOf => ({
  ...{ from, written, table, toOne: false },
  rows: (row) =>
    (READABLE.loaded ?? [])
      .filter((link) => link[near] === row.id)
      .flatMap((link) => (READABLE[table] ?? []).filter(({ id }) => id === link[far])),
})

export const RELATIONS: readonly RelationOf[] = [
  keyed('ship', 'ship_home', 'port', true, 'home_id', 'id'),
  keyed('ship', 'port!last_id', 'port', true, 'last_id', 'id'),
  keyed('port', 'ship!ship_home', 'ship', false, 'id', 'home_id'),
  keyed('port', 'ship!last_id', 'ship', false, 'id', 'last_id'),
  keyed('port', 'big_ship', 'big_ship', false, 'id', 'home_id'),
  keyed('big_ship', 'port', 'port', true, 'home_id', 'id'),
  keyed('big_ship', 'crew', 'crew', false, 'id', 'ship_id'),
  keyed('big_ship', 'log', 'log', true, 'id', 'ship_id'),
  keyed('ship', 'crew', 'crew', false, 'id', 'ship_id'),
  keyed('crew', 'ship', 'ship', true, 'ship_id', 'id'),
  keyed('crew', 'big_ship', 'big_ship', true, 'ship_id', 'id'),
  keyed('crew', 'boss_id', 'crew', true, 'boss_id', 'id'),
  keyed('crew', 'crew', 'crew', false, 'id', 'boss_id'),
  keyed('ship', 'log', 'log', true, 'id', 'ship_id'),
  keyed('log', 'ship', 'ship', true, 'ship_id', 'id'),
  keyed('loaded', 'cargo', 'cargo', true, 'cargo_id', 'id'),
  keyed('cargo', 'loaded', 'loaded', false, 'id', 'cargo_id'),
  across('ship', 'cargo', 'cargo', 'ship_id', 'cargo_id'),
  across('cargo', 'ship', 'ship', 'cargo_id', 'ship_id'),
  across('big_ship', 'cargo', 'cargo', 'ship_id', 'cargo_id'),
  {
    ...{ from: 'ship', written: 'captain', table: 'crew', toOne: true },
    rows: ({ id }) =>
      (READABLE.crew ?? []).filter(({ ship_id, boss_id }) => ship_id === id && boss_id === null).slice(0, 1),
  },
]
