import { Fragment } from 'preact'

const WORDS = [
  [
    'Stage',
    'A state of a project’s data, with tables of its own. A new project has one, named live; there can be more, such as a draft.',
  ],
  [
    'Archive',
    'A file with all tables and rows of a project, as of one moment. An export makes it, by a schedule or now.',
  ],
  [
    'Proven',
    'The archive was restored once, where it disturbs nobody, and what came out was the same. One that is only made has not been tried.',
  ],
  ['No longer kept', 'The archive was made, and has been deleted since, as its schedule says.'],
  [
    'Restore',
    'Puts what an archive has in the place of what a project has. What it replaces is kept for a while, and can be put back: its page says until when.',
  ],
  ['Overdue', 'The newest archive is older than its schedule allows.'],
] as const

/** What the words of these pages mean, for who reads them for the first time. */
export const Glossary = () => (
  <details>
    <summary>What these words mean</summary>
    <dl>
      {WORDS.map(([word, meaning]) => (
        <Fragment key={word}>
          <dt>{word}</dt>
          <dd>{meaning}</dd>
        </Fragment>
      ))}
    </dl>
  </details>
)
