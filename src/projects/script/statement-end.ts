import type { Token } from './tokens.ts'

export interface StatementEnd {
  /** Takes the next token of a statement. @returns whether it is the semicolon that ends it. */
  isAt(token: Token, bytes: Buffer): boolean
}

/** As many words as it takes to see `CREATE OR REPLACE FUNCTION`. */
const FIRST_WORDS = 4

/** A statement whose body can be between BEGIN ATOMIC and END. */
const WITH_BODY = /^create (?:or replace )?(?:function|procedure)\b/

/** As long as words are that matter here. */
const MAX_WORD_BYTES = 10

/**
 * Finds where a statement ends: at a semicolon that is not between brackets, nor in the body of an SQL function, whose
 * BEGIN, CASE and END are counted as psql counts them.
 */
export function createStatementEnd(): StatementEnd {
  const first: string[] = []
  let brackets = 0
  let blocks = 0

  const countWord = (word: string): void => {
    if (first.length < FIRST_WORDS) first.push(word)
    if (brackets > 0 || !WITH_BODY.test(first.join(' '))) return
    if (word === 'begin' || (word === 'case' && blocks > 0)) blocks += 1
    if (word === 'end' && blocks > 0) blocks -= 1
  }

  return {
    isAt({ kind, start, end }, bytes) {
      if (kind === 'open') brackets += 1
      if (kind === 'close' && brackets > 0) brackets -= 1
      if (kind === 'word')
        countWord(end - start > MAX_WORD_BYTES ? '' : bytes.toString('latin1', start, end).toLowerCase())
      return kind === 'semicolon' && brackets === 0 && blocks === 0
    },
  }
}
