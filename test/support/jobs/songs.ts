import type { TestWharf } from '../service/wharf.ts'

export const SONG_TABLE = 'CREATE TABLE song (id integer PRIMARY KEY, words text)'

/** Rows for it, of which gzip leaves half: some 1.05 kB of each. */
export const songs = (count: number): string =>
  `SELECT id, (SELECT string_agg(md5(id || ' ' || n), '') FROM generate_series(1, 62) n) FROM generate_series(1, ${count}) id`

/** What a project has of them, whatever their order. */
export const songsOf = ({ database }: Pick<TestWharf, 'database'>, project: string): Promise<unknown[]> =>
  database.query(`SELECT count(*)::int, sum(hashtext(id || words))::text FROM "${project}.live".song`)

/**
 * A network on which archives go, as a test has it: how many bytes of them have been sent; after how many of one connection it ends, and
 * how often that still happens; whether no more are taken then, or now, and how often one was asked for meanwhile.
 */
export const SOUND_LINE = { sent: 0, endsAfter: 0, ends: 0, staysDown: false, isDown: false, refused: 0 }
